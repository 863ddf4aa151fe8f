#include "probe/survey/band_latency_decision.h"

#include <vector>

#include "gputopo/program.h"
#include "gputopo/program/unrolled_loads.h"
#include "stats/outliers.h"

namespace gputopo::probe {

std::optional<double> timed_mean(const stats::Histogram& histogram, double low_cycles, double high_cycles,
                                 double timer_cycles, const BandLatencyParameters& parameters) {
  stats::Histogram inside = histogram;
  for (std::size_t bin = 0; bin < inside.size(); ++bin) {
    const double cycles = static_cast<double>(bin) * kHistogramBinCycles;
    if (cycles < low_cycles || cycles >= high_cycles) inside[bin] = 0;
  }
  const stats::BandSummary band = stats::summarise_band(inside, low_cycles, stats::disturbed_from(inside));
  if (band.count < parameters.min_loads) return std::nullopt;
  return band.mean - timer_cycles;
}

ChainCost chain_cost(std::span<const Segment> segments, const BandLatencyParameters& parameters) {
  const auto cycles_of = [&](std::uint64_t loads) {
    std::vector<double> cycles;
    for (const Segment& segment : segments) {
      if (segment.loads == loads) cycles.push_back(segment.cycles);
    }
    return stats::undisturbed_mean(cycles);
  };
  // Cycles per load, with its share of the passes.
  const auto rate = [&](const std::array<std::uint64_t, 2>& lengths) {
    return (cycles_of(lengths[1]) - cycles_of(lengths[0])) / static_cast<double>(lengths[1] - lengths[0]);
  };
  const double unrolled = rate(parameters.unrolled_loads);
  constexpr double kPassesOfUnrolled = 1.0 / kUnrolledLoads;
  const double pass = (rate(parameters.single_loads) - unrolled) / (1 - kPassesOfUnrolled);
  return {.load_cycles = unrolled - kPassesOfUnrolled * pass, .pass_cycles = pass};
}

double part_between(const stats::Histogram& histogram, double low_cycles, double high_cycles) {
  return stats::fraction_below(histogram, high_cycles) - stats::fraction_below(histogram, low_cycles);
}

bool is_nearly_all_in_band(const stats::Histogram& histogram, double low_cycles, double high_cycles,
                           const BandLatencyParameters& parameters) {
  return stats::fraction_below(histogram, low_cycles) <= parameters.max_nearer &&
         stats::fraction_below(histogram, high_cycles) >= 1 - parameters.max_farther;
}

bool is_possible_latency(double cycles, const PossibleLatencyParameters& parameters) {
  return cycles >= parameters.least_cycles;
}

}  // namespace gputopo::probe
