#include "probe/compute/operation_peaks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "gputopo/error.h"
#include "probe/bench/evidence.h"
#include "probe/compute/operation_outcome.h"
#include "probe/compute/operation_trials.h"

namespace gputopo::probe {
namespace {

// Conditions of a burst that is just long enough to measure its own clock: a launch under 200 us reports the clock of
// the launch before, which may have run matrices, and in longer launches matrices lower the clock further. Empty if
// the device cannot run the burst.
std::optional<Conditions> clock_of_burst(const ProbeRunner& runner, const OperationTrial& trial, double per_clk) {
  constexpr double kBurstSeconds = 220e-6;
  if (per_clk <= 0) return std::nullopt;
  const double cycles = kBurstSeconds * runner.conditions().sm_clock_mhz() * 1e6;
  OperationProgram program = trial.program(1);
  const double of_round =
      operations_per_round(program) * static_cast<double>(trial.warps) * runner.info().warp_size / per_clk;
  program.rounds = static_cast<std::uint32_t>(std::clamp<double>(std::ceil(cycles / of_round), 1, kMaxOperationRounds));
  ProbeRunner own = runner.another();
  try {
    static_cast<void>(own.operation({program}));
  } catch (const DeviceLostError&) {
    throw;
  } catch (const DeviceError& error) {
    runner.log(fmt::format("the SM clock of this operation was not measured separately: {}", error.what()));
    return std::nullopt;
  }
  return own.conditions();
}

void set_peak(const ProbeRunner& runner, const Conditions& conditions, const OperationOutcome& outcome,
              const OperationParameters& parameters, PeakFinding& finding) {
  if (!outcome.first.refusal.empty()) {
    finding.peak = unavailable(outcome.why_refused, outcome.first.refusal);
    return;
  }
  const Decision<PerOperation> rate = outcome.throughput(runner.info().warp_size, parameters);
  if (!rate.value) {
    finding.peak = unavailable(Reason::kInconclusive, rate.why_not);
    return;
  }
  const double arithmetic = info_of(finding.operation).arithmetic;
  const double a_second = arithmetic * runner.info().sm_count * conditions.sm_clock_mhz() * 1e6;
  const double value = four_digits(rate.value->value * a_second);
  finding.arithmetic_per_clk = rate.value->value * arithmetic;
  finding.peak = measured(conditions, value, "",
                          stats::Interval{std::min(value, rate.value->interval.low * a_second),
                                          std::max(value, rate.value->interval.high * a_second)},
                          "chains_of_all_warps");
  finding.peak.add_detail("operation", std::string(to_string(finding.operation)));
  finding.peak.add_detail("arithmetic_per_clk", four_digits(finding.arithmetic_per_clk));
  if (const double width = width_of(finding.arithmetic_per_clk); width > 0) {
    finding.peak.add_detail("width_per_clk", width);
    finding.peak.add_detail("percent_of_width", four_digits(100 * finding.arithmetic_per_clk / width));
  }
  outcome.add_code(parameters, finding.peak);
}

}  // namespace

std::vector<PeakFinding> measure_peaks(ProbeRunner& runner, std::span<const OperationId> operations) {
  const OperationParameters parameters;
  const std::vector<OperationTrial> trials = peak_trials(runner.info(), operations);
  std::map<OperationId, std::pair<OperationTrial, double>> best;
  std::vector<PeakFinding> findings;
  const auto take = [&](const OperationOutcome& outcome) {
    const Decision<PerOperation> rate = outcome.throughput(runner.info().warp_size, parameters);
    const bool counts = outcome.first.refusal.empty() && rate.value && !outcome.is_merged(parameters);
    const double value = counts ? rate.value->value : 0;
    const auto [known, is_new] = best.try_emplace(outcome.trial.operation, outcome.trial, value);
    if (value > known->second.second) known->second = {outcome.trial, value};
  };
  for (const OperationOutcome& outcome : run_trials(runner, trials)) take(outcome);
  std::vector<OperationTrial> more;
  for (const auto& [id, trial_and_rate] : best) {
    if (!is_nearly_full(id, trial_and_rate.second)) continue;
    const std::vector<OperationTrial> own = last_trials(id, most_operation_warps(runner.info()));
    more.insert(more.end(), own.begin(), own.end());
  }
  for (const OperationOutcome& outcome : run_more_trials(runner, more)) take(outcome);
  // Each best trial runs again with conditions of its own, because matrix units lower the clock.
  for (const auto& [id, trial_and_rate] : best) {
    ProbeRunner own = runner.another();
    findings.push_back({id, trial_and_rate.first.program(1), 0, {}});
    const OperationOutcome outcome = run_trials(own, {trial_and_rate.first}).front();
    const std::optional<Conditions> burst = clock_of_burst(own, trial_and_rate.first, trial_and_rate.second);
    set_peak(own, burst ? own.conditions().at_clock_of(*burst) : own.conditions(), outcome, parameters,
             findings.back());
  }
  return findings;
}

}  // namespace gputopo::probe
