// Counts of calls to the fake HIP runtime since it was initialized.
#pragma once

#include <cstdint>

namespace gputopo::test {

struct FakeHipCounts {
  std::uint32_t blocks = 0;  // of the last launch
  std::uint32_t masked_launches = 0;
  std::uint32_t streams_made = 0;
  std::uint32_t most_streams = 0;  // maximum at one time
};

}  // namespace gputopo::test
