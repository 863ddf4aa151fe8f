// What whole warps find: the banks of shared memory, atomics, and latency under load. What fools them is told by
// access_trial.h, and of each by its own file.
#pragma once

#include <cstdint>

#include "probe/bench/lab.h"
#include "probe/warps/banks_decision.h"

namespace gputopo::probe {

// ---- Banks of shared memory ----

// `mode_bytes` as AccessProgram::bank_mode_bytes; throws NotSupportedError where it cannot be chosen.
[[nodiscard]] BankCurve measure_bank_curve(Lab& lab, std::uint32_t mode_bytes = 0);

[[nodiscard]] Attribute banks(const BankCurve& curve, const BankFit& fit);
[[nodiscard]] Attribute bank_width(const BankCurve& curve, const BankFit& fit);
[[nodiscard]] Attribute conflict_cost(const Lab& lab, const BankCurve& curve, const BankFit& fit);
[[nodiscard]] Attribute measure_bank_interleave(Lab& lab, const BankCurve& as_it_is, const BankFit& fit);
[[nodiscard]] Attribute measure_request_lanes(Lab& lab, const BankFit& fit);
[[nodiscard]] Attribute measure_store_latency(Lab& lab);

// ---- Atomics and load: `space` is shared, or global_bypass_l1 for L2 ----

[[nodiscard]] Attribute measure_atomic_latency(Lab& lab, Space space);
[[nodiscard]] Attribute measure_atomic_throughput(Lab& lab, Space space);

enum class LoadedLevel { kL1, kShared, kL2, kDevice };
[[nodiscard]] Attribute measure_loaded_latency(Lab& lab, LoadedLevel level);

}  // namespace gputopo::probe
