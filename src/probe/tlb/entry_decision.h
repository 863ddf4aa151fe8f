// The bytes that one TLB entry covers, from blocks that are touched at one random place each. Pages touched at one
// half take up as many entries as whole pages only if an entry covers a page or more. A level whose sets fill unevenly
// fools the method: some blocks of every size miss, and two page sizes may explain equally many.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gputopo::probe {

struct TlbEntryParameters {
  // Smallest page of any GPU (B).
  std::uint64_t smallest_page_bytes = 4096;
  // Part of the blocks that misses if a block is about a page. Larger values report nothing for levels that do not
  // replace the oldest entry; smaller values accept a few lines that conflict in the cache behind the TLB.
  double many_missed = 0.3;
  // Blocks of several pages fit, so that less than this part of them misses.
  double hardly_any_missed = 0.01;
  // Sizes in a row that must fit before they count as larger than a page. Larger values take longer.
  std::size_t fitting_sizes = 2;
  // Blocks lie within a page if this many sizes in a row miss less than sharing_part of what the worst size misses (a
  // 16th of a page misses a 16th as often). More sizes or a smaller part take longer: small blocks are many.
  std::size_t sharing_sizes = 2;
  double sharing_part = 0.15;
  // Part of the blocks that misses if nearly all pages miss, whatever the sets.
  double nearly_all_missed = 0.75;
  // Distance of half-size blocks from half of that, besides noise. Larger values accept pages not shared by halves.
  double half_error = 0.05;
  // Largest error in explaining the missed part of any size. Larger values accept wrong explanations.
  double max_error = 0.1;
  // Factor by which the next best page must be worse. Larger values give fewer but surer answers.
  double times_as_well = 2;
  // Least difference to the next best page; without it, rounding would decide between two exact explanations.
  double least_worse = 0.02;
  // Most entries that are considered: counting the blocks of more takes seconds.
  std::uint64_t max_entries = 1 << 16;
  // Offsets in a page that are tried for the beginning of the array.
  std::uint64_t beginnings = 8;
};

// Blocks of one size, touched in order at one random place each, and the part of them that missed.
struct TouchedBlocks {
  std::uint64_t bytes = 0;
  std::vector<std::vector<std::uint64_t>> places_bytes;  // one list for each walk, ascending
  double missed = 0;
};

// The part of the blocks that misses in a TLB of `sets` sets with `ways` that replaces the oldest entry: every page of
// a set with more pages than ways misses, once for consecutive loads. `begin_bytes`: offset of the array in a page.
[[nodiscard]] double expected_misses(const TouchedBlocks& blocks, std::uint64_t page_bytes, std::uint64_t begin_bytes,
                                     std::uint64_t sets, std::uint64_t ways);

// Whether smaller blocks add nothing, because many share a page and its miss. `blocks`: the largest first.
[[nodiscard]] bool are_within_page(const std::vector<TouchedBlocks>& blocks, const TlbEntryParameters& parameters = {});

// Removes all but a few of the blocks that are so large that they fit: there are so few of them that one chance miss
// is a large part. `blocks`: the smallest first, here and below.
[[nodiscard]] std::vector<TouchedBlocks> up_to_fitting(std::vector<TouchedBlocks> blocks,
                                                       const TlbEntryParameters& parameters = {});

// The page size at which nearly all blocks miss, whatever the sets, and blocks of half a page half as often, because
// two of them share a miss. 0 if there is none. `error`: noise of a missed part.
[[nodiscard]] std::uint64_t page_that_halves_share(const std::vector<TouchedBlocks>& blocks, double error,
                                                   const TlbEntryParameters& parameters = {});

struct TlbEntryFound {
  std::uint64_t bytes = 0;  // 0 if no page or more than one explains the blocks
  std::string why;
};
// The page that two halves share, or else the power of two that explains, with some number of ways and this reach, the
// misses of all block sizes.
[[nodiscard]] TlbEntryFound find_tlb_entry(const std::vector<TouchedBlocks>& blocks, double reach_bytes, double error,
                                           const TlbEntryParameters& parameters = {});

}  // namespace gputopo::probe
