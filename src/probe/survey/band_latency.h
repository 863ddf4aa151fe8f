// Latencies of one level behind others: walks over an array whose loads hit several. What fools it is said where it is
// decided: band_latency_decision.h.
#pragma once

#include "probe/survey/band_latency_decision.h"
#include "probe/survey/site.h"

namespace gputopo::probe {

// Adds an untimed chain over the array to steps that have warmed it up (the first) and loaded from it, where they
// ended. In segments, so that outliers spoil some of them and not the others.
void add_untimed_chain(std::vector<ChaseStep>& steps, const ChaseArray& array);
// What such a chain costs, which is all steps from `first_step` on.
[[nodiscard]] ChainCost untimed_cost(const ChaseResult& copy, std::size_t first_step);
// The same of a load. Throws Inconclusive where no load can take so little: it was not waited for, or the clock is
// none.
[[nodiscard]] double untimed_latency(const ChaseResult& copy, std::size_t first_step);

// Loads with raw latencies in a band [low, high).
struct BandLatencies {
  std::vector<double> means_cycles;  // of each copy of a program, the timer's cost taken off
  stats::Histogram histogram;        // of all copies and all loads, raw
  bool untimed = false;              // the means are of untimed chains
};
// Of step `step` of a program's copies. Throws Inconclusive where too few loads are in the band.
[[nodiscard]] BandLatencies timed_band_latencies(const std::vector<ChaseResult>& copies, std::size_t step,
                                                 double low_cycles, double high_cycles, double timer_cycles);
// Of walks over an array in its first order. Where nearly all loads are in
// the band untimed chains tell: timing a load does not always cost the same.
[[nodiscard]] BandLatencies band_latencies(Lab& lab, const Survey& survey, const ChaseArray& array, double low_cycles,
                                           double high_cycles);

}  // namespace gputopo::probe
