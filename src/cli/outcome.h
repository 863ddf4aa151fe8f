// The exit code for a finished discovery.
#pragma once

#include <string>

#include "cli/options.h"
#include "gputopo/model.h"

namespace gputopo::cli {

struct RunOutcome {
  ExitCode code = kExitComplete;
  std::string error;           // set if the discovery failed: one line for standard error
  std::string broken_promise;  // set with kExitIncomplete: one line that says what is missing and why
};

// `interrupted`: the user requested an early end.
[[nodiscard]] RunOutcome judge(const Topology& topology, bool interrupted);

}  // namespace gputopo::cli
