// Quotes text as one word of a shell command.
#pragma once

#include <string>
#include <string_view>

namespace gputopo::report {

// In single quotes, only the closing quote is special.
[[nodiscard]] inline std::string shell_quoted(std::string_view text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

}  // namespace gputopo::report
