// How much of the address space an entry covers, from blocks that were touched at one random place each: pages that are
// touched at one half take up as many entries as whole ones only if an entry covers a page or more. What fools it is a
// level whose sets fill unevenly: among blocks of every size some miss then, and two page sizes may explain as many.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gputopo::probe {

struct TlbEntryParameters {
  // The least page that any GPU has.
  std::uint64_t smallest_page_bytes = 4096;
  // Part of the blocks that misses where one is about a page. Larger: of levels that do not replace the oldest nothing
  // is told; smaller: a few lines that meet in the cache behind are enough.
  double many_missed = 0.3;
  // Of blocks of several pages, which fit, less than this part misses.
  double hardly_any_missed = 0.01;
  // So many sizes of blocks in a row must fit to be beyond the page. More: takes longer.
  std::size_t fitting_sizes = 2;
  // So many sizes in a row, of which less than this part misses of what does of the size that misses most, are within
  // the page: of a 16th of one it is a 16th. More sizes, or a smaller part: takes longer, since those are many blocks.
  std::size_t sharing_sizes = 2;
  double sharing_part = 0.15;
  // Part of the blocks that misses where nearly all pages do, whatever the sets.
  double nearly_all_missed = 0.75;
  // How far from half of that those of half the size may be, besides what noise makes. Larger: a page that is not
  // shared by halves is taken for one.
  double half_error = 0.05;
  // The missed parts of all sizes must be explained within this. Larger: by what does not look like them.
  double max_error = 0.1;
  // And another page must explain them so many times worse. Larger: fewer answers, and surer ones.
  double times_as_well = 2;
  // And by so much, or two that explain all are told apart by what rounding leaves.
  double least_worse = 0.02;
  // Entries of a level that are thought of, at most: for more, counting blocks would take seconds.
  std::uint64_t max_entries = 1 << 16;
  // Places in a page at which the array may begin that are tried.
  std::uint64_t beginnings = 8;
};

// Blocks of one size, touched in order at one random place each, and the part of them that missed.
struct TouchedBlocks {
  std::uint64_t bytes = 0;
  std::vector<std::vector<std::uint64_t>> places_bytes;  // of each walk, ascending
  double missed = 0;
};

// The part of the blocks that misses in a TLB of `sets` sets of `ways`, the oldest of each replaced: of a set that has
// more pages than ways every page misses, once for all loads of it that follow one another. `begin_bytes`: where in a
// page the array begins.
[[nodiscard]] double expected_misses(const TouchedBlocks& blocks, std::uint64_t page_bytes, std::uint64_t begin_bytes,
                                     std::uint64_t sets, std::uint64_t ways);

// Whether smaller blocks would tell nothing more: many share a page and its miss. `blocks`: the largest first.
[[nodiscard]] bool are_within_page(const std::vector<TouchedBlocks>& blocks, const TlbEntryParameters& parameters = {});

// Without those that are so large that they fit, but for a few: one that misses by chance is a large part of them.
// `blocks`: by size, the smallest first, as below.
[[nodiscard]] std::vector<TouchedBlocks> up_to_fitting(std::vector<TouchedBlocks> blocks,
                                                       const TlbEntryParameters& parameters = {});

// Where nearly all pages miss, whatever the sets, half the blocks of half a page do: two of them share a miss. 0 where
// that is not so. `error`: what noise makes of a missed part.
[[nodiscard]] std::uint64_t page_that_halves_share(const std::vector<TouchedBlocks>& blocks, double error,
                                                   const TlbEntryParameters& parameters = {});

struct TlbEntryFound {
  std::uint64_t bytes = 0;  // 0 where nothing explains the blocks, or two pages do
  std::string why;
};
// The page that two halves share; else the power of two with which some number of ways explains what misses among
// blocks of every size, in a level of this reach.
[[nodiscard]] TlbEntryFound find_tlb_entry(const std::vector<TouchedBlocks>& blocks, double reach_bytes, double error,
                                           const TlbEntryParameters& parameters = {});

}  // namespace gputopo::probe
