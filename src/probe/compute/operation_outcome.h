// What a device answers to the ways to run an operation.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "probe/bench/lab.h"
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
  // Of a copy of both programs, on the slowest SM.
  [[nodiscard]] double cycles() const;
  // Of each operation; nothing where the device does not tell.
  [[nodiscard]] std::optional<double> instructions() const;
  // Whether the compiler made fewer instructions than there are operations.
  [[nodiscard]] bool is_merged(const OperationParameters& parameters) const;
  [[nodiscard]] Decision<PerOperation> throughput(std::uint32_t warp_lanes, OperationParameters parameters) const;
  // The machine instructions of an operation, and a flag where it is merged.
  void add_code(const OperationParameters& parameters, Attribute& attribute) const;
};

// In any order. Throws only what ends a run: what the device cannot do is refused in its outcome.
[[nodiscard]] std::vector<OperationOutcome> run_trials(Lab& lab, const std::vector<OperationTrial>& trials);
// Trials that may add to what is known already: a device that cannot run them takes nothing from it.
[[nodiscard]] std::vector<OperationOutcome> run_more_trials(Lab& lab, const std::vector<OperationTrial>& trials);

// The power of two that units are so wide as to come near to what was measured; 0: it is near none, and the width not
// known. The interval of a throughput may reach a little beyond it.
[[nodiscard]] double width_of(double per_clk);
// Whether more chains may get more of a unit: it is nearly full, and there are registers for them, and chains at all.
[[nodiscard]] bool is_nearly_full(OperationId operation, double per_clk);

}  // namespace gputopo::probe
