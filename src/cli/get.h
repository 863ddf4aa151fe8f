// `gputopo get`: prints one value for scripts, from a saved report, from the cache, or by measuring it.
#pragma once

#include <functional>
#include <string>

#include "cli/options.h"
#include "gputopo/model.h"

namespace gputopo::cli {

// Prints the value, or why it is unavailable. Returns the exit code. Throws UsageError for an unknown path.
[[nodiscard]] int get_of_report(const Topology& topology, const std::string& path);

// Discovers as the options say, and passes the report to `take` if there is one. Returns the exit code of `discover`.
using Discover = std::function<int(const Options& options, const std::function<void(const Topology&)>& take)>;

// Takes the value from the cache, or measures only this value and caches it. Returns the exit code.
[[nodiscard]] int get_of_device(const Options& options, const Discover& discover);

}  // namespace gputopo::cli
