// Latencies of one level behind others, from walks over an array whose loads hit several levels.
// band_latency_decision.h says what fools them.
#pragma once

#include "probe/survey/band_latency_decision.h"
#include "probe/survey/site.h"

namespace gputopo::probe {

// Appends an untimed chain that starts where the earlier steps end: a warm-up of the array, then loads from it. The
// chain consists of segments, so that outliers spoil only some of them.
void add_untimed_chain(std::vector<ChaseStep>& steps, const ChaseArray& array);
// The cost of this chain, which is all steps from `first_step` on.
[[nodiscard]] ChainCost untimed_cost(const ChaseResult& copy, std::size_t first_step);
// The cost of a load of this chain. Throws Inconclusive for an impossibly short time: either nothing waited for the
// load, or the clock does not count cycles.
[[nodiscard]] double untimed_latency(const ChaseResult& copy, std::size_t first_step);

// Loads with raw latencies in the band [low, high).
struct BandLatencies {
  std::vector<double> means_cycles;  // of each copy of a program, without the timer cost
  stats::Histogram histogram;        // raw latencies of all loads of all copies
  bool untimed = false;              // the means come from untimed chains
};
// Reads step `step` of a program's copies. Throws Inconclusive if too few loads are in the band.
[[nodiscard]] BandLatencies timed_band_latencies(const std::vector<ChaseResult>& copies, std::size_t step,
                                                 double low_cycles, double high_cycles, double timer_cycles);
// Walks the array in its first order. If nearly all loads are in the band, untimed chains give the means, because the
// cost of timing a load varies.
[[nodiscard]] BandLatencies band_latencies(ProbeRunner& runner, const Survey& survey, const ChaseArray& array,
                                           double low_cycles, double high_cycles);

}  // namespace gputopo::probe
