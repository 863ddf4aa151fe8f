// The command `gputopo node`.
#pragma once

#include "cli/options.h"
#include "gputopo/node.h"

namespace gputopo::cli {

// Measures the GPUs of a node, each in its own process, and then the links. Returns the exit code.
[[nodiscard]] int run_node(const Options& options);
// Writes a saved node report in the formats for nodes. Throws UsageError for other formats.
[[nodiscard]] int show_node(const Options& options, const NodeReport& report);

}  // namespace gputopo::cli
