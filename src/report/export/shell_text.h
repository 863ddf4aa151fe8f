// Text as a word of a shell.
#pragma once

#include <string>
#include <string_view>

namespace gputopo::report {

// In single quotes, within which nothing but their end means anything.
[[nodiscard]] inline std::string shell_quoted(std::string_view text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

}  // namespace gputopo::report
