#include "probe/compute/sustained.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "gputopo/program/operation_duration.h"
#include "probe/bench/evidence.h"
#include "probe/bench/intervals.h"
#include "probe/compute/operation_decision.h"
#include "probe/compute/operation_peaks.h"

namespace gputopo::probe {
namespace {

// Durations of launches and of batches of launches, which follow each other for seconds.
constexpr double kLaunchSeconds = 0.1;
constexpr double kBatchSeconds = 0.5;
constexpr double kMostLaunches = 2048;

}  // namespace

Attribute measure_sustained(ProbeRunner& runner, const PeakFinding& peak) {
  const std::optional<double> most = peak.peak.number();
  if (!most) return unavailable(peak.peak.reason, peak.peak.detail);
  const SustainedParameters parameters;
  OperationProgram program = peak.program;
  program.metered = true;
  const double of_round = 1.0 * info_of(program.operation).arithmetic * operations_per_round(program) * program.warps *
                          runner.info().warp_size * runner.info().sm_count;
  const double rounds = std::clamp<double>(kLaunchSeconds * *most / of_round, 1, kMaxOperationRounds);
  program.rounds = std::bit_floor(static_cast<std::uint32_t>(rounds));
  while (program.rounds > 1 && most_cycles(program) > kMaxOperationCycles) program.rounds /= 2;
  const double arithmetic = of_round * program.rounds;
  const double wanted = std::ceil(parameters.seconds * *most / arithmetic);
  const auto count = static_cast<std::size_t>(std::clamp(wanted, 1.0, kMostLaunches));
  const auto of_batch = static_cast<std::size_t>(std::max(1.0, kBatchSeconds * *most / arithmetic));
  std::vector<SustainedLaunch> launches;
  Conditions conditions;
  while (launches.size() < count) {
    ProbeRunner own = runner.another();
    const std::vector<OperationResult> results =
        own.operation(std::vector<OperationProgram>(std::min(of_batch, count - launches.size()), program));
    conditions.add(own.conditions());
    const double mhz = own.conditions().sm_clock_mhz();
    if (!(mhz > 0)) return unavailable(Reason::kInconclusive, "the SM clock during the launches is not known");
    for (const OperationResult& result : results) {
      const double seconds = stats::median(result.cycles) / (mhz * 1e6);
      launches.push_back({.per_second = arithmetic / seconds, .seconds = seconds, .joules = result.energy_joules});
    }
  }
  const Decision<Sustained> decision = decide_sustained(launches, parameters);
  if (!decision.value) return unavailable(Reason::kInconclusive, decision.why_not);
  const Sustained& sustained = *decision.value;
  const double value = four_digits(sustained.per_second);
  Attribute attribute =
      measured(conditions, value, "",
               stats::Interval{std::min(value, sustained.interval.low), std::max(value, sustained.interval.high)},
               "chains_for_two_seconds");
  attribute.add_detail("operation", std::string(to_string(program.operation)));
  attribute.add_detail("seconds", rounded(sustained.seconds));
  attribute.add_detail("percent_of_burst", four_digits(100 * value / *most));
  if (sustained.watts > 0) attribute.add_detail("power_watts", four_digits(sustained.watts));
  return attribute;
}

}  // namespace gputopo::probe
