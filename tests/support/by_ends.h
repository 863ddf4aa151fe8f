// Moves the bytes of a transfer in the stand-ins of vendors' libraries.
#pragma once

#include <cstdint>

namespace gputopo::test {

// Moves only the ends of a large range, which hold the chains' links and the tokens: moving all bytes takes too long.
template <typename Move>
void by_ends(std::uint64_t bytes, const Move& move) {
  constexpr std::uint64_t kEnd = 1 << 20;
  if (bytes <= 2 * kEnd) return move(0, bytes);
  move(0, kEnd);
  move(bytes - kEnd, kEnd);
}

}  // namespace gputopo::test
