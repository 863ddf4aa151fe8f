#include "probe/tlb/penalty_decision.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "gputopo/program.h"

namespace gputopo::probe {

double bins_error_cycles(double spread_cycles) {
  // Twice the first harmonic of the rounding error in the mean of a normal distribution. One latency at the edge of a
  // bin gives loads in two bins: that much deviation is no spread.
  constexpr double kBin = kHistogramBinCycles;
  const double spread = std::sqrt(std::max(0.0, spread_cycles * spread_cycles - kBin * kBin / 4));
  const double waves = std::numbers::pi * spread / kBin;
  return 2 * kBin / std::numbers::pi * std::exp(-2 * waves * waves);
}

std::optional<TlbPenalty> find_tlb_penalty(const std::vector<TlbOrders>& by_sm, std::uint64_t lines_of_page,
                                           double spread_cycles, const std::vector<TlbPenalty>& before,
                                           const TlbPenaltyParameters& parameters) {
  if (by_sm.empty() || lines_of_page < 2) return std::nullopt;
  // When lines are together, one load of each page still misses.
  const auto lines = static_cast<double>(lines_of_page);
  double nearer = 0;
  double error_of_nearer = 0;
  for (const TlbPenalty& level : before) {
    nearer += level.cycles;
    error_of_nearer += (level.interval.high - level.interval.low) / 2;
  }
  TlbPenalty penalty;
  std::vector<double> bases;
  for (const TlbOrders& orders : by_sm) {
    const double all = (orders.apart_cycles - orders.together_cycles) * lines / (lines - 1);
    penalty.cycles_by_sm.push_back(all - nearer);
    bases.push_back((lines * orders.together_cycles - orders.apart_cycles) / (lines - 1));
  }
  penalty.cycles = stats::mean(penalty.cycles_by_sm);
  const double most_base = parameters.most_base * (penalty.cycles + nearer) + parameters.most_base_cycles;
  if (stats::mean(bases) > most_base) return std::nullopt;
  const stats::Interval mean = stats::mean_interval(penalty.cycles_by_sm);
  const double least = parameters.least_error * (penalty.cycles + nearer) + parameters.least_error_cycles;
  const double own = std::max(least, (mean.high - mean.low) / 2);
  const double half = std::sqrt(own * own + error_of_nearer * error_of_nearer) + bins_error_cycles(spread_cycles);
  penalty.interval = {penalty.cycles - half, penalty.cycles + half};
  if (penalty.interval.low <= 0) return std::nullopt;
  return penalty;
}

}  // namespace gputopo::probe
