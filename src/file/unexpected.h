// Helpful messages for exceptions that are not gputopo's own: what() of the standard library is for programmers.
#pragma once

#include <exception>
#include <string>

namespace gputopo {

// One line that says what failed and what to do.
[[nodiscard]] std::string explain_unexpected(const std::exception& error);

}  // namespace gputopo
