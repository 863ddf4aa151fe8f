// Loads over many pages, one line on each, each line twice in a row. The extra time of the first load is its
// translation; the distance to the line's cache slice, which differs by more than a miss of some TLBs costs, is the
// same for both. The lines must stay in a cache behind the TLB; lines that do not stay there fool the method.
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

struct PageChaseParameters {
  // Loads this far apart are of different L2 lines, on all GPUs so far.
  std::uint64_t line_bytes = 128;
  // The same for the L2 that textures use on GT200.
  std::uint64_t texture_line_bytes = 256;
  // Lines few enough to hit in any cache of an SM. Their latency, timer included, is subtracted from single loads to
  // make pairs of them. Larger values exceed small caches; smaller values let one outlier decide.
  std::uint64_t lines_that_hit = 4;
  std::optional<std::uint32_t> hit_cycles;
  // Lines are staggered within the smallest page. GPUs with pages of 4 KiB have no L2 for these loads; an L2 needs
  // more room to spread lines over its sets. With larger values, lines of one page lie in several.
  std::uint64_t smallest_page_bytes = 4096;
  std::uint64_t smallest_page_with_l2_bytes = 64 << 10;
  // If set, lines are spread over spread_window_bytes of each page, or over all of a smaller stride. Arrays begin at
  // multiples of no more, so that with larger values lines in the last part of a page could lie on the next.
  bool spreads_lines = false;
  std::uint64_t spread_window_bytes = 64 << 10;
  // Most lines that are loaded. Larger values allow finer pages at the largest reaches, but programs take longer.
  std::uint64_t max_pages = 16384;
  // Divisor: at most 1/12 of what L2 was seen to keep, so that the lines stay whatever its sets. Larger values allow
  // fewer pages but lose fewer lines. At 12, the most pages need less than the near part of an H200's L2.
  std::uint64_t l2_part = 12;
  // Sizes that L2 may keep are tried downward by this factor, with adjacent lines: even the smallest page holds many,
  // so that no TLB takes part.
  std::uint64_t kept_steps = 4;
  std::uint64_t kept_loads = 2048;       // pairs that are counted
  std::uint64_t kept_lines_of_any = 64;  // lines that stay in any L2
  // Fewest pages in the search for what L2 keeps.
  std::uint64_t least_pages = 64;
  // Fewest pages for an L2 that keeps even less: twice the fewest entries that a level may have.
  std::uint64_t least_pages_of_small = 16;
  // Stride of the sweep (B): small enough to be below what an entry covers, if possible.
  std::uint64_t wanted_stride_bytes = 64 << 10;
  // Fewest lines: enough that lines in an unusual slice count little.
  std::uint64_t least_lines = 256;
  // Loads that are counted: enough that an outlier hardly moves the mean, and max_loads represent all shuffled pages.
  std::uint64_t least_loads = 512;
  std::uint64_t max_loads = 4096;
  // Loads of a walk over pages of one entry each: enough for a single page that misses to stand out. With at most
  // few_pages, one page is a large enough part that walk_loads_of_few suffice.
  std::uint64_t walk_loads = 1 << 16;
  std::uint64_t walk_loads_of_few = 1 << 14;
  std::uint64_t few_pages = 128;
  // Loads that measure noise: a part of all of them, no single page. Larger values are steadier but take longer.
  std::uint64_t quiet_loads = 1 << 14;
  std::uint64_t least_passes = 8;
  std::uint64_t max_passes = 24;  // unless noise looks like misses, which only many loads outweigh
  // Orders, with other lines each. If misses are cheap, noise is a large part of them and repeats: a loop over the
  // same lines in the same order keeps step with the clock of the cache behind.
  std::uint64_t orders = 8;
  // Multiple of what L2 was seen to keep (it may keep twice as much) beyond which it holds none of the lines.
  std::uint64_t exceeds_kept = 4;
  // Most elements of an array.
  std::uint64_t max_elements = 1ull << 30;
};

// An array with one line on each page, staggered so that the lines lie side by side in a cache behind the TLB. The
// order keeps the level `nearer` from serving loads that it need not: shuffled, unless its entries cover several
// pages. `variant` selects other lines of the pages.
[[nodiscard]] ChaseArray pages_apart(const ProbeRunner& runner, const Site& site, std::uint64_t pages,
                                     std::uint64_t stride_bytes, const NearerTlb& nearer,
                                     const PageChaseParameters& parameters = {}, std::uint64_t variant = 0);

// How often pages are walked in all.
struct ChasePasses {
  std::uint64_t passes = 1;
  std::uint64_t orders = 1;  // with other lines each; they share the passes
};

// Walks over pages of one site, as many and as far apart as the device has room for.
class PageChaser {
 public:
  // `times_lines`: in a space that the SM's own cache serves, the multiple of the fewest lines that it holds none of.
  PageChaser(ProbeRunner& runner, const Site& site, std::uint64_t times_lines = 2);

  [[nodiscard]] ProbeRunner& runner() const { return runner_; }
  [[nodiscard]] const Site& site() const { return site_; }
  [[nodiscard]] const PageChaseParameters& parameters() const { return parameters_; }
  [[nodiscard]] std::uint64_t max_pages() const { return max_pages_; }
  [[nodiscard]] std::uint64_t largest_bytes() const { return largest_bytes_; }
  // Whether L2 keeps fewer lines than max_pages.
  [[nodiscard]] bool has_few_lines() const { return max_pages_ < parameters_.max_pages; }
  // The SM's own cache, if loads cannot bypass it: walks visit so many lines of their pages that it holds none.
  [[nodiscard]] const NearestCache& nearest() const { return nearest_; }
  // Whether no array of the space can be larger than largest_bytes(), whatever memory is free.
  [[nodiscard]] bool is_limited() const { return is_limited_; }
  // The same with lines spread over the whole distance between pages, and at most 1 / l2_part of what L2 keeps.
  [[nodiscard]] PageChaser with_spread_lines(std::uint64_t l2_part) const;
  // The same with so many lines that L2 holds none of them either and memory serves all, for a space with a nearest
  // cache and an L2 that keeps few lines. Nothing if these are too many, or memory does not stand out. `known`: the
  // last known level; walks keep it from serving loads that it need not, or the next level shows late.
  [[nodiscard]] std::optional<PageChaser> past_l2(const NearerTlb& known) const;

  // The stride of pages for this reach.
  [[nodiscard]] std::uint64_t stride_for(double reach_bytes) const;
  // The element size at which an array of this many bytes can list any line; for huge arrays, more than a line.
  [[nodiscard]] std::uint64_t line_for(std::uint64_t bytes) const;
  [[nodiscard]] ChaseArray pages_apart(std::uint64_t pages, std::uint64_t stride_bytes, const NearerTlb& nearer = {},
                                       std::uint64_t variant = 0) const {
    return probe::pages_apart(runner_, site_, pages, stride_bytes, nearer.entry_bytes > 0 ? nearer : known_,
                              parameters_, variant);
  }
  // Loads everything that the array's chain visits, then loads pairs. With a nearest cache, visits so many lines of
  // the pages, page_bytes apart, that it holds none. `together`: lines of the chain on each page, a power of two,
  // which differ in the highest bits of their places in the window.
  [[nodiscard]] ChaseProgram program_over(ChaseArray array, std::uint64_t max_loads, std::uint64_t page_bytes,
                                          std::uint64_t together = 1) const;
  // Throws Inconclusive if the nearest cache still serves loads.
  void require_past_nearest(const stats::Histogram& paired) const;
  // Lines in a page of this size or, if smaller, in the GPU's smallest page: other lines of it surely lie there.
  [[nodiscard]] std::uint64_t window_lines(std::uint64_t page_bytes) const;
  // The histogram of paired loads of each program.
  [[nodiscard]] std::vector<stats::Histogram> run(const std::vector<ChaseProgram>& programs) const;

  // For pages of one entry each. `noisy`: noise alone looks like misses.
  [[nodiscard]] ChasePasses passes_over(std::uint64_t pages, bool noisy) const;
  // Adjacent lines, as many as exceed the nearest cache: hardly any load waits for a translation.
  [[nodiscard]] stats::Histogram neighbours_past_nearest() const;

  // For lines whose loads all hit.
  [[nodiscard]] ChasePasses quiet_passes_over(std::uint64_t lines) const;
  // The sum of all passes. `variant`: the choice of lines, or the first of several.
  [[nodiscard]] stats::Histogram walk(std::uint64_t pages, std::uint64_t page_bytes, const NearerTlb& nearer,
                                      const ChasePasses& passes, std::uint64_t variant = 0) const;

 private:
  void look_at_nearest();
  void take_lines_past_nearest(std::uint64_t times_lines);
  void limit_to_arrays();
  [[nodiscard]] ChaseArray in_rounds(const ChaseArray& array, std::uint64_t page_bytes, std::uint64_t together) const;

  ProbeRunner& runner_;
  const Site& site_;
  PageChaseParameters parameters_;
  NearestCache nearest_;
  NearerTlb known_;
  bool is_limited_ = false;
  std::uint64_t kept_bytes_ = 0;  // adjacent lines that L2 keeps
  std::uint64_t max_pages_ = 0;
  std::uint64_t largest_bytes_ = 0;
};

}  // namespace gputopo::probe
