// gputopo node.
#pragma once

#include "cli/options.h"
#include "gputopo/node.h"

namespace gputopo::cli {

// Measures the GPUs of a node, each in a process of its own, and then its links. Returns the exit code.
[[nodiscard]] int run_node(const Options& options);
// A saved report of a node, in the formats that there are of one. Throws UsageError for others.
[[nodiscard]] int show_node(const Options& options, const NodeReport& report);

}  // namespace gputopo::cli
