// Loads over many pages, one line on each, twice in a row: what the first load of a line takes longer is its
// translation, whatever the way to the slice of the cache it lies in, which differs by more than the miss of some TLBs
// costs. The lines stay in a cache behind the translation; what fools it is lines that do not.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

#include "probe/survey/site.h"
#include "probe/tlb/page_order.h"
#include "probe/tlb/rounds.h"

namespace gputopo::probe {

struct PageWalkParameters {
  // Loads this far apart are of different lines of L2, on all GPUs so far.
  std::uint64_t line_bytes = 128;
  // And of the L2 of textures on GT200.
  std::uint64_t texture_line_bytes = 256;
  // Of these so few hit the SM's own cache, whatever it is. What these take, by the timer and all, is taken off single
  // loads, which stand for pairs. More: caches that hold no more; fewer: an outlier is all that shows.
  std::uint64_t lines_that_hit = 4;
  std::optional<std::uint32_t> hit_cycles;
  // The lines are staggered within the smallest page. GPUs whose pages are as small as 4 KiB have no L2 for these
  // loads, whose sets would need more room to be spread over. Larger: lines of one page lie in several.
  std::uint64_t smallest_page_bytes = 4096;
  std::uint64_t smallest_page_with_l2_bytes = 64 << 10;
  // Set: spread instead, over so many bytes of each page or, of smaller strides, over all of them. Larger: arrays begin
  // at multiples of no more, and lines in the last part of a page would be on the next one.
  bool spreads_lines = false;
  std::uint64_t spread_window_bytes = 64 << 10;
  // Lines that are loaded at most. More: finer pages at the largest reaches; programs take longer.
  std::uint64_t max_pages = 16384;
  // And no more than this part of what L2 was seen to keep: they stay there, whatever its sets. Larger: fewer pages,
  // and less that goes astray. So that the most pages ask for less than the near part of an H200's L2.
  std::uint64_t l2_part = 12;
  // What L2 keeps is tried from there down, each time so much less: neighbouring lines, of which even the smallest
  // pages hold many, so that no TLB takes part in it. Pairs that are counted; and of so many lines that stay in any L2.
  std::uint64_t kept_steps = 4;
  std::uint64_t kept_loads = 2048;
  std::uint64_t kept_lines_of_any = 64;
  // Of an L2 that keeps fewer nothing is told.
  std::uint64_t least_pages = 64;
  // Smaller ones are asked for where not even so many do: twice the fewest entries that a level may have.
  std::uint64_t least_pages_of_small = 16;
  // Apart in the sweep: small enough to be under what an entry covers, wherever that can be.
  std::uint64_t wanted_stride_bytes = 64 << 10;
  // Enough lines that those which lie in a slice of its own kind count little.
  std::uint64_t least_lines = 256;
  // Loads that are counted: enough that an outlier moves the mean by little, and of shuffled pages so many speak for
  // all.
  std::uint64_t least_loads = 512;
  std::uint64_t max_loads = 4096;
  // Loads of a walk over pages of one entry each, enough for a single page that misses to stand out; less of so few
  // pages that one is no small part of them.
  std::uint64_t walk_loads = 1 << 16;
  std::uint64_t walk_loads_of_few = 1 << 14;
  std::uint64_t few_pages = 128;
  // Loads that tell what noise makes of all of them: a part, and no single page. More: steadier; takes longer.
  std::uint64_t quiet_loads = 1 << 14;
  std::uint64_t least_passes = 8;
  std::uint64_t max_passes = 24;  // unless noise is taken for misses, which only many loads make up for
  // Where misses cost little, noise is a good part of them, and the same from pass to pass: a loop over the same lines
  // in the same order keeps step with the clock of the cache behind. Other lines in other orders are other noise.
  std::uint64_t orders = 8;
  // Times what L2 was seen to keep, which may be twice as much: of more lines it holds none.
  std::uint64_t exceeds_kept = 4;
  // Of an array.
  std::uint64_t max_elements = 1ull << 30;
};

// An array of so many pages, a line on each, staggered so that the lines lie in a cache behind the translation side by
// side. In an order in which the level `nearer` serves none of them that it need not: shuffled, unless its entries
// cover several. `variant`: other lines of the pages.
[[nodiscard]] ChaseArray pages_apart(const Lab& lab, const Site& site, std::uint64_t pages, std::uint64_t stride_bytes,
                                     const NearerTlb& nearer, const PageWalkParameters& parameters = {},
                                     std::uint64_t variant = 0);

// How often pages are walked, in all.
struct WalkPasses {
  std::uint64_t passes = 1;
  std::uint64_t orders = 1;  // of other lines each, which share the passes
};

// Walks over pages of one site, as many and as far apart as the device has room for.
class PageWalker {
 public:
  // `times_lines`: of a space that the SM's own cache serves, times the fewest lines of which this holds none.
  PageWalker(Lab& lab, const Site& site, std::uint64_t times_lines = 2);

  [[nodiscard]] Lab& lab() const { return lab_; }
  [[nodiscard]] const Site& site() const { return site_; }
  [[nodiscard]] const PageWalkParameters& parameters() const { return parameters_; }
  [[nodiscard]] std::uint64_t max_pages() const { return max_pages_; }
  [[nodiscard]] std::uint64_t largest_bytes() const { return largest_bytes_; }
  // L2 keeps fewer lines than would be loaded.
  [[nodiscard]] bool has_few_lines() const { return max_pages_ < parameters_.max_pages; }
  // The cache of the SM, where loads cannot bypass it: walks visit so many lines of their pages that it holds none.
  [[nodiscard]] const NearestCache& nearest() const { return nearest_; }
  // Set: no array of the space may be larger than largest_bytes(), whatever memory is free.
  [[nodiscard]] bool is_limited() const { return is_limited_; }
  // The same with lines that are spread over all of what is between two pages, and no more of them than this part of
  // what L2 keeps.
  [[nodiscard]] PageWalker with_spread_lines(std::uint64_t l2_part) const;
  // Where there is a nearest cache and L2 keeps few lines: the same with so many lines that L2 holds none of them
  // either, and memory serves all. Nothing where these are too many, or memory does not stand out. `known`: the last
  // level that is known, which serves none of the loads of walks that it need not, or the next shows late.
  [[nodiscard]] std::optional<PageWalker> past_l2(const NearerTlb& known) const;

  // Of pages that reach so far.
  [[nodiscard]] std::uint64_t stride_for(double reach_bytes) const;
  // Any line of an array of so many bytes, or of larger ones any of some.
  [[nodiscard]] std::uint64_t line_for(std::uint64_t bytes) const;
  [[nodiscard]] ChaseArray pages_apart(std::uint64_t pages, std::uint64_t stride_bytes, const NearerTlb& nearer = {},
                                       std::uint64_t variant = 0) const {
    return probe::pages_apart(lab_, site_, pages, stride_bytes, nearer.entry_bytes > 0 ? nearer : known_, parameters_,
                              variant);
  }
  // Loads of all that the array's chain visits, then paired loads. Where there is a nearest cache, of so many lines of
  // the pages, which are so far apart, that it holds none; `together`: lines of the chain on each page, a power of two,
  // which differ in the highest bits of a line's place in its window.
  [[nodiscard]] ChaseProgram program_over(ChaseArray array, std::uint64_t max_loads, std::uint64_t page_bytes,
                                          std::uint64_t together = 1) const;
  // Throws Inconclusive where the nearest cache serves loads all the same.
  void require_past_nearest(const stats::Histogram& paired) const;
  // Of places within a page of so many bytes: where other lines of it surely are.
  [[nodiscard]] std::uint64_t window_lines(std::uint64_t page_bytes) const;
  // The histogram of the paired loads of each.
  [[nodiscard]] std::vector<stats::Histogram> run(const std::vector<ChaseProgram>& programs) const;

  // Over so many pages of one entry each. `noisy`: noise alone is taken for misses.
  [[nodiscard]] WalkPasses passes_over(std::uint64_t pages, bool noisy) const;
  // Neighbouring lines, as many as it takes: hardly any of them waits for a translation.
  [[nodiscard]] stats::Histogram neighbours_past_nearest() const;

  // Over lines that are all in their caches.
  [[nodiscard]] WalkPasses quiet_passes_over(std::uint64_t lines) const;
  // Of all passes together. `variant`: other lines of the pages, or the first of several.
  [[nodiscard]] stats::Histogram walk(std::uint64_t pages, std::uint64_t page_bytes, const NearerTlb& nearer,
                                      const WalkPasses& passes, std::uint64_t variant = 0) const;

 private:
  void look_at_nearest();
  void take_lines_past_nearest(std::uint64_t times_lines);
  void limit_to_arrays();
  [[nodiscard]] ChaseArray in_rounds(const ChaseArray& array, std::uint64_t page_bytes, std::uint64_t together) const;

  Lab& lab_;
  const Site& site_;
  PageWalkParameters parameters_;
  NearestCache nearest_;
  NearerTlb known_;
  bool is_limited_ = false;
  std::uint64_t kept_bytes_ = 0;  // by L2, of neighbouring lines
  std::uint64_t max_pages_ = 0;
  std::uint64_t largest_bytes_ = 0;
};

}  // namespace gputopo::probe
