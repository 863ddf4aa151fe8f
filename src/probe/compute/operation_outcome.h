// The results of the trials of an operation.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "probe/bench/probe_runner.h"
#include "probe/compute/operation_decision.h"
#include "probe/compute/operation_trials.h"

namespace gputopo::probe {

struct OperationOutcome {
  OperationTrial trial;
  RoundTimes fewer;
  RoundTimes more;
  OperationResult first;
  Reason why_refused = Reason::kNotSupported;

  [[nodiscard]] double operations_per_round() const { return gputopo::operations_per_round(trial.program(1)); }
  // Cycles of a copy of both programs on the slowest SM.
  [[nodiscard]] double cycles() const;
  // Machine instructions of each operation; empty if the device does not report them.
  [[nodiscard]] std::optional<double> instructions() const;
  // Whether the compiler made fewer instructions than there are operations.
  [[nodiscard]] bool is_merged(const OperationParameters& parameters) const;
  [[nodiscard]] Decision<PerOperation> throughput(std::uint32_t warp_lanes, OperationParameters parameters) const;
  // Adds the machine instructions of an operation, and a flag if it is merged.
  void add_code(const OperationParameters& parameters, Attribute& attribute) const;
};

// Outcomes in any order. Throws only what ends a run; the outcome of an operation that the device lacks is a refusal.
[[nodiscard]] std::vector<OperationOutcome> run_trials(ProbeRunner& runner, const std::vector<OperationTrial>& trials);
// Runs trials that may add to known results. Returns none of them if the device cannot run them.
[[nodiscard]] std::vector<OperationOutcome> run_more_trials(ProbeRunner& runner,
                                                            const std::vector<OperationTrial>& trials);

// The width of a unit, a power of two, that comes close to this rate; 0: the rate is close to none, and the width is
// unknown. The interval of a throughput may reach slightly beyond the width.
[[nodiscard]] double width_of(double per_clk);
// Whether more chains may raise the rate: the unit is nearly full, and there are registers for more chains.
[[nodiscard]] bool is_nearly_full(OperationId operation, double per_clk);

}  // namespace gputopo::probe
