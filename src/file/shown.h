// A file's own text within a message: messages are one short line, and a terminal must not obey what a file says.
#pragma once

#include <string>
#include <string_view>

#include "file/limits.h"
#include "file/visible.h"

namespace gputopo {

// The first `most` bytes as visible text, "..." after them where there are more.
[[nodiscard]] inline std::string shown(std::string_view text, std::size_t most = limits::kMaxShown) {
  std::size_t end = most;
  // Not in the middle of a character.
  while (end > 0 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return visible_line(text.substr(0, end)) + (text.size() > end ? "..." : "");
}

}  // namespace gputopo
