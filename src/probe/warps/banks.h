// Banks of shared memory: a warp's lanes access words that are a stride apart, at every stride up to 64 words, and a
// layout of banks explains what each costs. What fools it: accesses whose lanes are served in an order of their own, so
// that two layouts explain the curve about as well.
#pragma once

#include <cstdint>

#include "probe/bench/lab.h"
#include "probe/warps/banks_decision.h"

namespace gputopo::probe {

// `mode_bytes` as AccessProgram::bank_mode_bytes; throws NotSupportedError where it cannot be chosen.
[[nodiscard]] BankCurve measure_bank_curve(Lab& lab, std::uint32_t mode_bytes = 0);

[[nodiscard]] Attribute banks(const BankCurve& curve, const BankFit& fit);
[[nodiscard]] Attribute bank_width(const BankCurve& curve, const BankFit& fit);
[[nodiscard]] Attribute conflict_cost(const Lab& lab, const BankCurve& curve, const BankFit& fit);
[[nodiscard]] Attribute measure_bank_interleave(Lab& lab, const BankCurve& as_it_is, const BankFit& fit);
[[nodiscard]] Attribute measure_request_lanes(Lab& lab, const BankFit& fit);
[[nodiscard]] Attribute measure_store_latency(Lab& lab);

}  // namespace gputopo::probe
