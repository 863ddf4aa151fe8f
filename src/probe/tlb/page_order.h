// Orders in which pages are loaded, so that the level of TLB before the one in question serves none that it need not.
// Pure functions.
#pragma once

#include <cstdint>
#include <vector>

namespace gputopo::probe {

// The level before: it may not be there, and then has no entries.
struct NearerTlb {
  std::uint64_t entry_bytes = 0;
  double reach_bytes = 0;
};

struct PageOrderParameters {
  // Another entry of the level before from block to block, so many times as many of them as it has. More: the blocks of
  // one page come farther apart, and share fewer misses.
  double past = 2;
  // Of several windows, each pass over one begins in its middle: else its last block and the first of the next window
  // may lie in one entry, where arrays do not begin with one.
  bool from_middle = false;
};

// The blocks, which are ascending, in an order in which the level before misses for each of them, where one of its
// entries covers many. The blocks of one page stay near one another.
[[nodiscard]] std::vector<std::uint32_t> past_nearer(const std::vector<std::uint32_t>& blocks,
                                                     std::uint64_t block_bytes, const NearerTlb& nearer,
                                                     const PageOrderParameters& parameters = {});

// One from each half in turns: neighbours may be of one entry.
[[nodiscard]] std::vector<std::uint32_t> halves_in_turns(std::uint32_t pages);

}  // namespace gputopo::probe
