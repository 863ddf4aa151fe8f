#include "probe/compute/operation_outcome.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "gputopo/error.h"
#include "operation/capability.h"
#include "probe/bench/evidence.h"
#include "probe/bench/intervals.h"

namespace gputopo::probe {
namespace {

// Times of all blocks of these results.
RoundTimes times_of_all(std::span<const OperationResult> results, std::uint32_t rounds) {
  RoundTimes times{.rounds = static_cast<double>(rounds)};
  for (const OperationResult& result : results) {
    times.cycles.insert(times.cycles.end(), result.cycles.begin(), result.cycles.end());
  }
  return times;
}

// The fastest time of each SM. Two units together may fall into one of two rhythms, and SMs of one launch into
// different ones (64-bit additions on an H200: 67.6 or 63.4 per clock).
RoundTimes times_of_quickest(std::span<const OperationResult> results, std::uint32_t rounds) {
  std::map<std::uint32_t, double> by_sm;
  for (const OperationResult& result : results) {
    for (std::size_t i = 0; i < result.cycles.size(); ++i) {
      const auto [known, is_new] = by_sm.try_emplace(result.sms.at(i), result.cycles[i]);
      known->second = std::min(known->second, result.cycles[i]);
    }
  }
  RoundTimes times{.rounds = static_cast<double>(rounds)};
  for (const auto& [sm, cycles] : by_sm) times.cycles.push_back(cycles);
  return times;
}

std::vector<OperationOutcome> run_together(ProbeRunner& runner, const std::vector<OperationTrial>& trials) {
  // Skips operations that no GPU of this kind has, because recordings do not contain them.
  const auto refusal_of = [&info = runner.info()](OperationId id) {
    return refusal_by_capability(info.compute_capability_major, info.compute_capability_minor, info_of(id));
  };
  std::vector<OperationProgram> programs;
  for (const OperationTrial& trial : trials) {
    if (!refusal_of(trial.operation).empty()) continue;
    programs.insert(programs.end(), trial.copies, trial.program(trial.few_rounds()));
    programs.insert(programs.end(), trial.copies, trial.program(trial.many_rounds()));
  }
  const std::vector<OperationResult> results = runner.operation(programs);
  std::vector<OperationOutcome> outcomes;
  std::size_t next = 0;
  for (const OperationTrial& trial : trials) {
    if (std::string refusal = refusal_of(trial.operation); !refusal.empty()) {
      outcomes.push_back({trial, {}, {}, {.refusal = std::move(refusal)}});
      continue;
    }
    const auto own = std::span(results).subspan(next, 2 * trial.copies);
    const auto times_of = trial.every_sm ? times_of_quickest : times_of_all;
    outcomes.push_back({trial, times_of(own.first(trial.copies), trial.few_rounds()),
                        times_of(own.subspan(trial.copies), trial.many_rounds()), own.front()});
    next += own.size();
  }
  return outcomes;
}

}  // namespace

// A recording made before some operations existed has the others, so after an error each runs by itself.
std::vector<OperationOutcome> run_trials(ProbeRunner& runner, const std::vector<OperationTrial>& trials) {
  try {
    return run_together(runner, trials);
  } catch (const DeviceLostError&) {
    throw;
  } catch (const DeviceMemoryError&) {
    throw;
  } catch (const DeviceError& error) {
    std::map<OperationId, std::vector<OperationTrial>> apart;
    for (const OperationTrial& trial : trials) apart[trial.operation].push_back(trial);
    std::vector<OperationOutcome> outcomes;
    for (const auto& [id, own] : apart) {
      if (apart.size() > 1) {
        std::ranges::move(run_trials(runner, own), std::back_inserter(outcomes));
        continue;
      }
      const bool is_word = dynamic_cast<const NotSupportedError*>(&error) != nullptr;  // the device says so
      const Reason reason = is_word ? Reason::kNotSupported : Reason::kDeviceError;
      for (const OperationTrial& trial : own) outcomes.push_back({trial, {}, {}, {.refusal = error.what()}, reason});
    }
    return outcomes;
  }
}

std::vector<OperationOutcome> run_more_trials(ProbeRunner& runner, const std::vector<OperationTrial>& trials) {
  if (trials.empty()) return {};
  try {
    return run_together(runner, trials);
  } catch (const DeviceLostError&) {
    throw;
  } catch (const DeviceError& error) {
    runner.log(fmt::format("the trials of operations end early: {}", error.what()));
    return {};
  }
}

double OperationOutcome::cycles() const {
  const auto most = [](const RoundTimes& times) {
    return times.cycles.empty() ? 0 : *std::ranges::max_element(times.cycles);
  };
  return most(fewer) + most(more);
}

std::optional<double> OperationOutcome::instructions() const {
  if (first.code_bytes <= 0 || first.instruction_bytes <= 0) return std::nullopt;
  return first.code_bytes / first.instruction_bytes / operations_per_round();
}

bool OperationOutcome::is_merged(const OperationParameters& parameters) const {
  const double padding = parameters.padding_instructions / operations_per_round();
  return instructions().value_or(INFINITY) + padding < parameters.least_instructions;
}

void OperationOutcome::add_code(const OperationParameters& parameters, Attribute& attribute) const {
  const std::optional<double> of_each = instructions();
  if (!of_each) return;
  attribute.add_detail("machine_instructions", rounded(*of_each));
  if (is_merged(parameters)) {
    attribute.flags.push_back(
        fmt::format("operations_merged: the compiler generated {:.2f} instructions per operation, so the value is not "
                    "that of one operation",
                    *of_each));
  }
}

Decision<PerOperation> OperationOutcome::throughput(std::uint32_t warp_lanes, OperationParameters parameters) const {
  if (trial.copies > OperationTrial::kCopies) parameters.steady_sms = parameters.steady_sms_of_more;
  return decide_operation_throughput(fewer, more, operations_per_round(), static_cast<double>(trial.warps) * warp_lanes,
                                     parameters);
}

double width_of(double per_clk) {
  constexpr double kLeastShare = 0.88;
  constexpr double kBeyond = 1.01;
  const double width = std::exp2(std::ceil(std::log2(per_clk / kBeyond)));
  return per_clk >= kLeastShare * width ? width : 0;
}

bool is_nearly_full(OperationId operation, double per_clk) {
  constexpr double kFull = 0.98;
  const OperandType type = info_of(operation).type;
  return registers_of(type) == 1 && warps_per_operation(type) == 1 && per_clk < kFull * width_of(per_clk);
}

}  // namespace gputopo::probe
