// Quotes of a file's text in messages: a message is one short line, and a terminal must not execute a file's text.
#pragma once

#include <string>
#include <string_view>

#include "file/limits.h"
#include "file/sanitize.h"

namespace gputopo {

// The first `most` bytes as visible text, followed by "..." if there are more.
[[nodiscard]] inline std::string shown(std::string_view text, std::size_t most = limits::kMaxShown) {
  std::size_t end = most;
  // Never cuts a UTF-8 character.
  while (end > 0 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return sanitized_line(text.substr(0, end)) + (text.size() > end ? "..." : "");
}

}  // namespace gputopo
