// What contradicts a level of TLB: what was seen of it, asked again by an experiment of another design. Pure functions.
// What fools the first look is lines that meet in the cache behind the translation, and pages so far apart that only
// some of a level's sets are used.
#pragma once

#include "probe/tlb/miss_decision.h"
#include "stats/histogram.h"

namespace gputopo::probe {

struct TlbContradictionParameters {
  // What must miss as well as other pages misses more than this part of what they do; what must fit, less. Larger:
  // levels of uneven sets are not told; smaller: those of which the pages used few sets are.
  double as_well = 0.5;
  // A load that waits longer than a miss of the level, as in TlbMissParameters, and longer than this misses the cache.
  // Less than that costs anywhere.
  double cache_miss_cycles = 60;
  // Part of the loads that may: more, and what they hide is not counted. Larger: some levels seem to fit more; smaller:
  // outliers hide levels.
  double hidden_part = 0.1;
  // Well beyond the step, slow loads wait this part of its rise at least, if so many of them are slow that the mean
  // tells. Larger: noise hides penalties; smaller: what the cache adds at the step is a penalty.
  double least_of_rise = 0.75;
  double least_slow = 0.2;
  // Part of the rise, and cycles, that another line of a page may wait which was just loaded. Larger: penalties of
  // lines that miss the cache are told; smaller: noise of the means hides penalties.
  double most_beside = 0.05;
  double most_beside_cycles = 4;
};

// Parts that miss of the pages of a level whose entries seem to cover as much as the smallest blocks that were touched.
struct SmallestBlockMisses {
  double at_step = 0;
  double half_as_far_apart = 0;  // of as many pages: they reach half as far, and fit unless it is pages that count
  double beyond = 0;             // of more pages than there seem to be entries, a power of two apart
  double odd_part_farther = 0;   // of as many: they use all sets, and all miss unless the others used only some
};
[[nodiscard]] bool may_be_smaller(const SmallestBlockMisses& misses, const TlbContradictionParameters& parameters = {});

// Whether so many loads over pages that fit the level miss the cache behind it that its misses cannot be counted.
[[nodiscard]] bool cache_hides_misses(const stats::Histogram& paired, const MissSignature& signature,
                                      const TlbContradictionParameters& parameters = {});

// Whether misses well beyond the step cost less than it rose by: something else was added there.
[[nodiscard]] bool rose_by_more_than_misses(const SlowBeyond& slow, const MissSignature& signature,
                                            const TlbContradictionParameters& parameters = {});

// Whether other lines of the pages wait too, well beyond the step: they do not all stay in the cache.
[[nodiscard]] bool lines_miss_cache(const SlowBeyond& slow, const MissSignature& signature,
                                    const TlbContradictionParameters& parameters = {});

}  // namespace gputopo::probe
