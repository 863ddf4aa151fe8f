// What the stand-ins of vendors' libraries move over links.
#pragma once

#include <cstdint>

namespace gputopo::test {

// Of many bytes the first and the last, where links of chains and tokens are: to move all takes the host too long.
template <typename Move>
void by_ends(std::uint64_t bytes, const Move& move) {
  constexpr std::uint64_t kEnd = 1 << 20;
  if (bytes <= 2 * kEnd) return move(0, bytes);
  move(0, kEnd);
  move(bytes - kEnd, kEnd);
}

}  // namespace gputopo::test
