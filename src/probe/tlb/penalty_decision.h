// The cost of a TLB miss, from the same lines in two orders: with the lines of a page apart, each misses; together,
// only the first does. Each line's place in the cache is the same in both. Pages that hit in between fool it.
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
  std::vector<std::uint32_t> sms;  // the SMs of cycles_by_sm
};

struct TlbPenaltyParameters {
  // Least half width of the interval, as a part of the cost of missing this and all nearer levels, and in cycles: the
  // drift of the clock. Larger values widen intervals.
  double least_error = 0.02;
  double least_error_cycles = 0.1;
  // Longest wait of loads that miss no level, as a part of a miss and in cycles; if it is longer, lines missed the
  // cache. Larger values report penalties of such lines; smaller values reject correct ones.
  double most_base = 0.03;
  double most_base_cycles = 3;
};

// Mean extra cycles of first touches on one SM.
struct TlbOrders {
  double apart_cycles = 0;
  double together_cycles = 0;
};

// Error (cycles) that bins of 2 cycles may add to the difference of two means of loads with this standard deviation.
// If noise does not spread a latency over several bins, the mean is that of its bin.
[[nodiscard]] double bins_error_cycles(double spread_cycles);

// `spread_cycles`: of loads that all miss. `before`: of the levels before, which miss too. Nothing if it is no miss.
[[nodiscard]] std::optional<TlbPenalty> find_tlb_penalty(const std::vector<TlbOrders>& by_sm,
                                                         std::uint64_t lines_of_page, double spread_cycles,
                                                         const std::vector<TlbPenalty>& before,
                                                         const TlbPenaltyParameters& parameters = {});

}  // namespace gputopo::probe
