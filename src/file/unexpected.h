// Exceptions that are none of gputopo's own, in words that help: what() of the standard library's is for programmers.
#pragma once

#include <exception>
#include <string>

namespace gputopo {

// One line that says what failed and what to do.
[[nodiscard]] std::string explain_unexpected(const std::exception& error);

}  // namespace gputopo
