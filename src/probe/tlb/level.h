// One level of TLB, from its step in a sweep over pages. Three questions are asked of it: where it begins, exactly; how
// much of the address space one entry covers (pages touched at one random half each take up as many entries as whole
// ones only if an entry covers a page or more); and how many pages each page too many pushes out, which are the ways of
// the set it falls into, plus itself.
#pragma once

#include <vector>

#include "probe/tlb/sweep.h"
#include "probe/tlb/tlb.h"

namespace gputopo::probe {

struct TlbLevelParameters {
  // What noise there is depends on the lines, which lie over this part of the reach, where all fit.
  double quiet_reach_part = 0.6;
  std::uint64_t quiet_lines = 1024;
  // And how much, on walks over so few lines: so many of them, each over other lines.
  std::uint64_t few_lines = 16;
  std::uint64_t quiet_walks = 32;
  // What a miss costs is told from this part of its entries, which fit, and so many times as many, which all miss.
  double fitting_part = 0.7;
  double all_miss = 2;
  // Of a level that noise does not hide. Fewer: what comes once, such as a neighbour's turn, weighs more.
  std::uint64_t least_passes = 4;
  // Lines of these that are tried, one after the other, where they do not stay in the cache behind: how it chooses sets
  // may undo how lines are chosen.
  std::uint64_t variants = 4;
  // Without entries to count, one set that overflows does not stand out from noise, so the reach may begin by this part
  // sooner; of as few lines as a small L2 allows, several do not.
  double unseen_part = 0.02;
  double unseen_part_of_few = 0.2;
  // Where noise hides misses of a few pages, these begin where the mean of all loads has risen by this part of a miss.
  // Larger: later than they do; smaller: noise of the mean.
  double mean_rise = 0.15;
};

// What of a level's entries is asked a second time, by an experiment of another design.
struct TlbCheckParameters {
  // Pages that all miss: this part of them, at least; of a level that noise hides.
  double nearly_all = 0.95;
  double nearly_all_if_noisy = 0.8;
  // Of the pages that fit, walks over these parts must take the same, but for this part of a miss.
  double few_pages = 0.6;
  double most_pages = 0.97;
  double same_part = 0.15;
  int looks = 2;  // any of which may show it. More: reaches that are too large seem to fit
  // Pages half as far apart, over this part of the reach, must fit: of smaller entries they are too many.
  double finer_part = 0.9;
  double hardly_missed = 0.25;
  // Without entries to count: pages so many strides apart, this part as many as fit one stride apart. If it is bytes
  // that count and not pages, they are too many. Both odd: sets that are a power of two are all used.
  std::vector<std::uint64_t> strides_apart = {3, 5};
  double fewer_pages = 0.7;
  // Part of them that must miss.
  double many_missed = 0.5;
  // Where of no blocks more than this part misses, the step itself is asked what is asked of twice its reach.
  double no_block_misses = 0.05;
  // Where blocks smaller than an entry were not touched: so many times the entries miss, and this part farther apart,
  // an odd number of them, as well. Fewer pages tell nothing.
  double times_entries = 2;
  double least_times_entries = 1.1;
  std::uint64_t farther_divisor = 8;
};

// What it is for the experiments that only a level is asked.
struct LookedAt {
  StepIs is = StepIs::kLevel;
  TlbLevel level;
};
// Where memory runs out, what was found until then.
[[nodiscard]] LookedAt look_at_level(const PageWalker& walker, const TlbStep& step,
                                     const std::vector<SweepPoint>& points, const NearerTlb& nearer,
                                     const TlbLevelParameters& parameters = {});

}  // namespace gputopo::probe
