#include "probe/compute/operation_decision.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace gputopo::probe {
namespace {

// Share of blocks at either end that may be interrupted.
constexpr double kOutliers = 0.1;

// The mean of the SMs without outliers. SMs use shared resources in turns that differ between launches: some get more,
// others less (membar.sys on an H200: medians of ten runs differ by 1.6%, these means by half of that).
double mean_of_most(std::span<const double> cycles) { return stats::trimmed_mean(cycles, kOutliers); }

// Cycles of a round: the difference between the middles, and an interval from the extremes without outliers.
Decision<PerOperation> cycles_of_a_round(const RoundTimes& fewer, const RoundTimes& more, double steady,
                                         double (*middle)(std::span<const double>)) {
  if (fewer.cycles.empty() || more.cycles.empty() || more.rounds <= fewer.rounds) return {.why_not = "no rounds ran"};
  const double rounds = more.rounds - fewer.rounds;
  const double of_fewer = middle(fewer.cycles);
  const double of_more = middle(more.cycles);
  const double value = (of_more - of_fewer) / rounds;
  const std::string basis = fmt::format("{:.0f} rounds took {:.0f} cycles and {:.0f} rounds took {:.0f}", fewer.rounds,
                                        of_fewer, more.rounds, of_more);
  if (value <= 0) return {.basis = basis, .why_not = basis + ": more rounds took no longer"};
  std::vector<double> sorted = more.cycles;
  std::ranges::sort(sorted);
  const auto outliers = static_cast<std::size_t>(kOutliers * static_cast<double>(sorted.size()));
  const double least = sorted[outliers];
  const double most = sorted[sorted.size() - 1 - outliers];
  if (most - least > steady * of_more) {
    return {.basis = basis,
            .why_not = fmt::format("{:.0f} rounds took {:.0f} to {:.0f} cycles: something disturbed them", more.rounds,
                                   least, most)};
  }
  const stats::Interval interval{(least - of_fewer) / rounds, (most - of_fewer) / rounds};
  return {.value = PerOperation{value, {std::min(interval.low, value), std::max(interval.high, value)}},
          .basis = basis};
}

}  // namespace

Decision<PerOperation> decide_operation_latency(const RoundTimes& fewer, const RoundTimes& more,
                                                double operations_per_round, const OperationParameters& parameters) {
  Decision<PerOperation> decision = cycles_of_a_round(fewer, more, parameters.steady, stats::median);
  if (!decision.value) return decision;
  const auto& [value, interval] = *decision.value;
  const double low = std::max(0.0, interval.low - parameters.loop_cycles);
  const double middle = std::max(low, value - parameters.loop_cycles / 2);
  decision.value =
      PerOperation{middle / operations_per_round, {low / operations_per_round, interval.high / operations_per_round}};
  return decision;
}

Decision<PerOperation> decide_operation_throughput(const RoundTimes& fewer, const RoundTimes& more,
                                                   double operations_per_round, double lanes,
                                                   const OperationParameters& parameters) {
  Decision<PerOperation> decision = cycles_of_a_round(fewer, more, parameters.steady_sms, mean_of_most);
  if (!decision.value) return decision;
  const auto& [value, interval] = *decision.value;
  const double of_fewer = mean_of_most(fewer.cycles);
  const double beginning = 1 - fewer.rounds * value / of_fewer;
  if (beginning < parameters.least_beginning || beginning > parameters.most_beginning) {
    return {.basis = decision.basis,
            .why_not = fmt::format("{}: the rounds of the two runs did not take equally long", decision.basis)};
  }
  const double operations = operations_per_round * lanes;
  decision.value =
      PerOperation{operations / value, {operations / interval.high, operations / std::max(interval.low, value * 0.5)}};
  return decision;
}

double four_digits(double value) {
  if (value <= 0) return 0;
  const double exponent = std::floor(std::log10(value)) - 3;
  const double unit = std::pow(10, std::abs(exponent));
  return exponent < 0 ? std::round(value * unit) / unit : std::round(value / unit) * unit;
}

bool has_stopped_rising(std::span<const ChainRate> rates, const OperationParameters& parameters) {
  if (rates.empty()) return false;
  const double best = std::ranges::max_element(rates, {}, &ChainRate::per_clk)->per_clk;
  const double most = std::ranges::max_element(rates, {}, &ChainRate::chains)->chains;
  return std::ranges::any_of(rates, [&](const ChainRate& rate) {
    return rate.per_clk >= (1 - parameters.flat_part) * best && rate.chains * parameters.more_chains <= most;
  });
}

Decision<Sustained> decide_sustained(std::span<const SustainedLaunch> launches, const SustainedParameters& parameters) {
  double before = 0;
  std::vector<double> rates;
  Sustained sustained;
  double joules = 0;
  for (const SustainedLaunch& launch : launches) {
    if (before >= parameters.settle_seconds) {
      rates.push_back(launch.per_second);
      sustained.seconds += launch.seconds;
      joules += launch.joules;
    }
    before += launch.seconds;
  }
  const std::string basis = fmt::format("{} launches of {:.2f} s in total", launches.size(), before);
  if (rates.empty()) {
    return {.basis = basis,
            .why_not = fmt::format("{}: no launch began after the first {:.0f} s, and earlier launches do not count",
                                   basis, parameters.settle_seconds)};
  }
  sustained.per_second = stats::median(rates);
  sustained.interval = {*std::ranges::min_element(rates), *std::ranges::max_element(rates)};
  sustained.watts = joules / sustained.seconds;
  return {.value = sustained, .basis = basis};
}

}  // namespace gputopo::probe
