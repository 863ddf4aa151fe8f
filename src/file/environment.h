// Environment variables, read in the one way that is safe for programs with more rights than who starts them.
#pragma once

#include <cstdlib>

namespace gputopo {

// Null where the variable is not set. Also null in a set-user-ID or set-group-ID program and in one with file
// capabilities: its environment comes from a user who must not choose the libraries that it loads or the files that it
// writes.
[[nodiscard]] inline const char* environment_variable(const char* name) { return ::secure_getenv(name); }

}  // namespace gputopo
