// Runs the subcommands. run() returns the exit code, prints the result to standard output and throws gputopo::Error.
#pragma once

#include "cli/options.h"

namespace gputopo::cli {

[[nodiscard]] int run(const Options& options);

}  // namespace gputopo::cli
