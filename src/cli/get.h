// `gputopo get`: one value for scripts, of a saved report, of what is known of this GPU, or measured.
#pragma once

#include <functional>
#include <string>

#include "cli/options.h"
#include "gputopo/model.h"

namespace gputopo::cli {

// Prints the value, or why there is none. Throws UsageError for a path that names none.
[[nodiscard]] int get_of_report(const Topology& topology, const std::string& path);

// Discovers as the options ask, and hands the report over where there is one; the exit code is that of `discover`.
using Discover = std::function<int(const Options& options, const std::function<void(const Topology&)>& take)>;

// From the cache, else by measuring just this, which then goes there.
[[nodiscard]] int get_of_device(const Options& options, const Discover& discover);

}  // namespace gputopo::cli
