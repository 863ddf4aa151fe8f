// A file's own text within a message: messages are one short line, and a terminal must not obey what a file says.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "file/limits.h"

namespace gputopo {

// The first limits::kMaxShown characters, "..." after them where there are more, and '?' for control characters.
[[nodiscard]] inline std::string shown(std::string_view text) {
  std::string line(text.substr(0, limits::kMaxShown));
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; };
  std::replace_if(line.begin(), line.end(), is_control, '?');
  if (text.size() > limits::kMaxShown) line += "...";
  return line;
}

}  // namespace gputopo
