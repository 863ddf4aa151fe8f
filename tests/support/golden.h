// Compares a text with a file in tests/golden/expected. GPUTOPO_UPDATE_GOLDEN=1 rewrites the file.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "gputopo/file.h"

namespace gputopo::test {

// Replaces a part that changes with every release of a library by "...".
inline std::string without_part(std::string text, std::string_view part) {
  const std::size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << "the text has no part " << part.substr(0, 80);
  if (at != std::string::npos) text.replace(at, part.size(), "...");
  return text;
}

inline void expect_golden(const std::string& text, const std::string& name) {
  const std::string path = std::string(GPUTOPO_SOURCE_DIR "/tests/golden/expected/") + name;
  if (std::getenv("GPUTOPO_UPDATE_GOLDEN") != nullptr) {
    write_file(path, text);
    return;
  }
  EXPECT_EQ(text, read_file(path)) << "If this is meant: GPUTOPO_UPDATE_GOLDEN=1 ./dev test -L golden";
}

}  // namespace gputopo::test
