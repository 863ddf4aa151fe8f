// The subcommands. Each returns the exit code, prints its result to standard output and throws gputopo::Error.
#pragma once

#include "cli/options.h"

namespace gputopo::cli {

[[nodiscard]] int run(const Options& options);

}  // namespace gputopo::cli
