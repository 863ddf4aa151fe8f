// What whole warps find: the banks of shared memory, atomics, and latency under load.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "probe/lab.h"

namespace gputopo::probe {

// ---- Banks of shared memory ----

// How a warp's accesses are served: one pass for each row of a bank that lanes served together want.
struct BankLayout {
  std::uint32_t banks = 0;
  std::uint32_t bank_bytes = 0;
  std::uint32_t lanes_at_once = 0;  // lanes of one request; a warp makes as many as it takes
  std::uint32_t warp_lanes = 32;
  friend bool operator==(const BankLayout&, const BankLayout&) = default;
};

// Passes beyond the first of each request when the lanes access words `stride_bytes` apart.
[[nodiscard]] std::uint32_t conflicts_of(const BankLayout& layout, std::uint32_t stride_bytes);

// What a warp's access costs at strides of 0 to 64 words.
struct BankCurve {
  std::uint32_t warp_lanes = 32;
  std::vector<double> strides_bytes;
  std::vector<double> load_cycles;   // of dependent loads
  std::vector<double> store_cycles;  // of stores one behind another
  Conditions conditions;
};

// The layout that explains a curve, and the line through its conflicts.
struct BankFit {
  BankLayout layout;
  double free_cycles = 0;       // without conflicts
  double conflict_cycles = 0;   // of each
  double error_cycles = 0;      // standard error of conflict_cycles
  double residual_cycles = 0;   // root mean square of what the line leaves
  bool lanes_are_clear = true;  // no other lanes_at_once explains the curve about as well
};

[[nodiscard]] BankCurve measure_bank_curve(Lab& lab);
// Throws Inconclusive where no layout explains the curve, or two do.
[[nodiscard]] BankFit fit_banks(const BankCurve& curve);

[[nodiscard]] Attribute banks(const BankCurve& curve, const BankFit& fit);
[[nodiscard]] Attribute bank_width(const BankCurve& curve, const BankFit& fit);
[[nodiscard]] Attribute conflict_cost(const Lab& lab, const BankCurve& curve, const BankFit& fit);
[[nodiscard]] Attribute measure_store_latency(Lab& lab);

// ---- Atomics and load: `space` is shared, or global_bypass_l1 for L2 ----

[[nodiscard]] Attribute measure_atomic_latency(Lab& lab, Space space);
[[nodiscard]] Attribute measure_atomic_throughput(Lab& lab, Space space);

enum class LoadedLevel { kL1, kShared, kL2, kDevice };
[[nodiscard]] Attribute measure_loaded_latency(Lab& lab, LoadedLevel level);

}  // namespace gputopo::probe
