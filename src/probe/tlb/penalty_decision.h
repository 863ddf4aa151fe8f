// What a miss of a TLB costs, from the same lines in two orders: those of a page apart, so that each misses, and
// together, so that only the first does. Where a line lies in the cache is the same in both. What fools it is a page
// that does not miss in between.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "stats/descriptive.h"

namespace gputopo::probe {

// A miss of one level alone.
struct TlbPenalty {
  double cycles = 0;
  stats::Interval interval;
  std::vector<double> cycles_by_sm;
  std::vector<std::uint32_t> sms;  // which those are
};

struct TlbPenaltyParameters {
  // The least half width of the interval, as a part of the miss with those of the levels before, and in cycles: what
  // the clock drifts by. Larger: wider intervals.
  double least_error = 0.02;
  double least_error_cycles = 0.1;
  // Loads that miss no level wait no longer than this part of a miss and so many cycles, or lines missed the cache.
  // Larger: penalties of such lines are told; smaller: right ones are not.
  double most_base = 0.03;
  double most_base_cycles = 3;
};

// Of one SM, what loads of first touches wait for longer on average.
struct TlbOrders {
  double apart_cycles = 0;
  double together_cycles = 0;
};

// What counting in bins of 2 cycles may move the difference of two means by, of loads that differ by so much: where
// noise does not spread a latency over several bins, a mean is that of its bin.
[[nodiscard]] double bins_error_cycles(double spread_cycles);

// `spread_cycles`: of the loads that all miss. `before`: of the levels before, which miss too. Nothing where that is no
// miss.
[[nodiscard]] std::optional<TlbPenalty> find_tlb_penalty(const std::vector<TlbOrders>& by_sm,
                                                         std::uint64_t lines_of_page, double spread_cycles,
                                                         const std::vector<TlbPenalty>& before,
                                                         const TlbPenaltyParameters& parameters = {});

}  // namespace gputopo::probe
