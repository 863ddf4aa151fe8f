// A text against a file of tests/golden/expected. GPUTOPO_UPDATE_GOLDEN=1 rewrites the file.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "gputopo/file.h"

namespace gputopo::test {

inline void expect_golden(const std::string& text, const std::string& name) {
  const std::string path = std::string(GPUTOPO_SOURCE_DIR "/tests/golden/expected/") + name;
  if (std::getenv("GPUTOPO_UPDATE_GOLDEN") != nullptr) {
    write_file(path, text);
    return;
  }
  EXPECT_EQ(text, read_file(path)) << "If this is meant: GPUTOPO_UPDATE_GOLDEN=1 ./dev test -L golden";
}

}  // namespace gputopo::test
