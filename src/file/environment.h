// Environment variables, read in the only way that is safe for programs with more rights than their caller.
#pragma once

#include <cstdlib>

namespace gputopo {

// Null if the variable is not set, and in programs with set-user-ID, set-group-ID or file capabilities: the user who
// provides their environment must not choose the libraries they load or the files they write.
[[nodiscard]] inline const char* environment_variable(const char* name) { return ::secure_getenv(name); }

}  // namespace gputopo
