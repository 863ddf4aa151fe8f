// Contradictions to a TLB level: other experiments repeat each observation. Lines that conflict in the cache behind
// the TLB fool the first experiment, and so do pages so far apart that they use only some sets. Pure functions.
#pragma once

#include "probe/tlb/miss_decision.h"
#include "stats/histogram.h"

namespace gputopo::probe {

struct TlbContradictionParameters {
  // Pages that must miss like others miss at least this part of what those do; pages that must fit miss less. Larger
  // values reject levels of uneven sets; smaller values accept levels of which the pages used few sets.
  double as_well = 0.5;
  // A load misses the cache if it waits longer than any miss of the level (TlbMissParameters) and longer than this. A
  // miss of the cache costs at least this much on all GPUs.
  double cache_miss_cycles = 60;
  // Part of the loads that may miss the cache; more hide misses that then are not counted. Larger values let some
  // levels seem to fit more pages; smaller values let outliers hide levels.
  double hidden_part = 0.1;
  // Well beyond the step, slow loads wait at least this part of its rise; the mean decides if least_slow are slow.
  // Larger values let noise hide penalties; smaller values count what the cache adds to the step as a penalty.
  double least_of_rise = 0.75;
  double least_slow = 0.2;
  // Longest wait for another line of a page that was just loaded, as a part of the rise and in cycles. Larger values
  // report penalties of lines that miss the cache; smaller values let noise of the means hide penalties.
  double most_beside = 0.05;
  double most_beside_cycles = 4;
};

// Missed parts of pages in a level whose entries seem to cover as much as the smallest blocks that were touched.
struct SmallestBlockMisses {
  double at_step = 0;
  double at_half_stride = 0;  // as many pages: they reach half as far and fit, unless pages count and not bytes
  double beyond = 0;          // more pages than there seem to be entries, a power of two apart
  double at_odd_stride = 0;   // as many: they use all sets, and miss as often unless `beyond` used only some
};
[[nodiscard]] bool may_be_smaller(const SmallestBlockMisses& misses, const TlbContradictionParameters& parameters = {});

// Whether too many loads over pages that fit the level miss the cache behind it, so that its misses cannot be counted.
[[nodiscard]] bool cache_hides_misses(const stats::Histogram& paired, const MissSignature& signature,
                                      const TlbContradictionParameters& parameters = {});

// Whether misses well beyond the step cost less than its rise: then something else adds to the step.
[[nodiscard]] bool rose_by_more_than_misses(const SlowBeyond& slow, const MissSignature& signature,
                                            const TlbContradictionParameters& parameters = {});

// Whether other lines of the pages wait too, well beyond the step: then not all lines stay in the cache.
[[nodiscard]] bool lines_miss_cache(const SlowBeyond& slow, const MissSignature& signature,
                                    const TlbContradictionParameters& parameters = {});

}  // namespace gputopo::probe
