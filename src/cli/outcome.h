// What a finished discovery means for the exit code.
#pragma once

#include <string>

#include "cli/options.h"
#include "gputopo/model.h"

namespace gputopo::cli {

struct Outcome {
  ExitCode code = kExitComplete;
  std::string error;           // set where the discovery failed: one line for standard error
  std::string broken_promise;  // set with kExitIncomplete: what is missing and why, one line for standard error
};

// `interrupted`: the user asked for an early end.
[[nodiscard]] Outcome judge(const Topology& topology, bool interrupted);

}  // namespace gputopo::cli
