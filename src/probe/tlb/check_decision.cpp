#include "probe/tlb/check_decision.h"

#include <algorithm>

#include "probe/bench/paired_histogram.h"

namespace gputopo::probe {

bool may_be_smaller(const SmallestBlockMisses& misses, const TlbContradictionParameters& parameters) {
  return misses.at_half_stride > parameters.as_well * misses.at_step ||
         misses.at_odd_stride < parameters.as_well * misses.beyond;
}

bool cache_hides_misses(const stats::Histogram& paired, const MissSignature& signature,
                        const TlbContradictionParameters& parameters) {
  const double longest = std::max(TlbMissParameters{}.max_rises * signature.rise_cycles, parameters.cache_miss_cycles);
  return 1 - part_below(paired, signature.before_cycles + longest) > parameters.hidden_part;
}

bool rose_by_more_than_misses(const SlowBeyond& slow, const MissSignature& signature,
                              const TlbContradictionParameters& parameters) {
  return slow.pages >= parameters.least_slow &&
         slow.pages_wait_cycles < parameters.least_of_rise * slow.pages * signature.rise_cycles;
}

bool lines_miss_cache(const SlowBeyond& slow, const MissSignature& signature,
                      const TlbContradictionParameters& parameters) {
  return slow.companions_wait_cycles >
         std::max(parameters.most_beside_cycles, parameters.most_beside * signature.rise_cycles);
}

}  // namespace gputopo::probe
