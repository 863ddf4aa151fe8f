// Orders of pages in which the nearer TLB level serves no load that it need not. Pure functions.
#pragma once

#include <cstdint>
#include <vector>

namespace gputopo::probe {

// The level before; without one, it has no entries.
struct NearerTlb {
  std::uint64_t entry_bytes = 0;
  double reach_bytes = 0;
};

struct PageOrderParameters {
  // Entries of the nearer level between two visits of the same one, as a multiple of what it holds; consecutive blocks
  // use different entries. Larger values move the blocks of one page apart, so that they share fewer misses.
  double past = 2;
  // With several windows, each pass over one begins in its middle. Otherwise its last block and the first of the next
  // window may share an entry if the array does not begin with one.
  bool from_middle = false;
};

// Orders the ascending blocks so that each misses the nearer level, even if one of its entries covers many. The blocks
// of one page stay close together.
[[nodiscard]] std::vector<std::uint32_t> past_nearer(const std::vector<std::uint32_t>& blocks,
                                                     std::uint64_t block_bytes, const NearerTlb& nearer,
                                                     const PageOrderParameters& parameters = {});

// Alternates between the two halves, because adjacent pages may share an entry.
[[nodiscard]] std::vector<std::uint32_t> interleave_halves(std::uint32_t pages);

}  // namespace gputopo::probe
