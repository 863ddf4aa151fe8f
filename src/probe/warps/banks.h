// Banks of shared memory: the lanes of a warp access words at every stride up to 64 words, and a layout of banks
// explains what each stride costs. What fools it: lanes that are served in an unusual order, so that two layouts
// explain the curve about equally well.
#pragma once

#include <cstdint>

#include "probe/bench/probe_runner.h"
#include "probe/warps/banks_decision.h"

namespace gputopo::probe {

// `mode_bytes`: as in AccessProgram::bank_mode_bytes; throws NotSupportedError if the device has no choice.
[[nodiscard]] BankCurve measure_bank_curve(ProbeRunner& runner, std::uint32_t mode_bytes = 0);

[[nodiscard]] Attribute banks(const BankCurve& curve, const BankFit& fit);
[[nodiscard]] Attribute bank_width(const BankCurve& curve, const BankFit& fit);
[[nodiscard]] Attribute conflict_cost(const ProbeRunner& runner, const BankCurve& curve, const BankFit& fit);
[[nodiscard]] Attribute measure_bank_interleave(ProbeRunner& runner, const BankCurve& as_it_is, const BankFit& fit);
[[nodiscard]] Attribute measure_request_lanes(ProbeRunner& runner, const BankFit& fit);
[[nodiscard]] Attribute measure_store_latency(ProbeRunner& runner);

}  // namespace gputopo::probe
