// What the fake HIP runtime was asked for since it was initialised.
#pragma once

#include <cstdint>

namespace gputopo::test {

struct FakeHipCounts {
  std::uint32_t blocks = 0;  // of the last launch
  std::uint32_t masked_launches = 0;
  std::uint32_t streams_made = 0;
  std::uint32_t most_streams = 0;  // at a time
};

}  // namespace gputopo::test
