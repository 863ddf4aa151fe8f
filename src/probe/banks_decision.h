// Which number and width of banks explain what a warp's accesses to shared memory cost at every stride.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "probe/conditions.h"
#include "probe/decision.h"
#include "stats/descriptive.h"

namespace gputopo::probe {

struct BanksDecisionParameters {
  // What is tried: past GPUs had 16 or 32 banks of 4 or 8 bytes and served a half-warp or a warp at once; a wavefront
  // of 64 lanes has halves of 32. More: layouts that no GPU has may explain noise as well.
  std::array<std::uint32_t, 4> banks = {8, 16, 32, 64};
  std::array<std::uint32_t, 3> bank_bytes = {4, 8, 16};
  std::array<std::uint32_t, 3> lanes_at_once = {16, 32, 64};
  // A layout explains the curve when what it leaves is less than this part of a conflict: with half of one,
  // neighbouring degrees of conflict could not be told apart.
  double max_residual = 0.35;
  // And when it leaves this many times less, in squares, than any other does. More: more layouts are ambiguous.
  double clear = 4;
  // Less than that cannot be told from noise: the strides would all look alike.
  double least_conflict_cycles = 0.25;
  // A line goes through any two.
  std::size_t least_strides = 3;
};

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

// Conflicts at each stride of the curve.
[[nodiscard]] std::vector<double> conflicts_along(const BankLayout& layout, const BankCurve& curve);

// The layout that explains a curve, and the line through its conflicts.
struct BankFit {
  BankLayout layout;
  double free_cycles = 0;       // without conflicts
  double conflict_cycles = 0;   // of each
  double error_cycles = 0;      // standard error of conflict_cycles
  double residual_cycles = 0;   // root mean square of what the line leaves
  bool lanes_are_clear = true;  // no other lanes_at_once explains the curve about as well
};

// No value where no layout explains the curve, or two do.
[[nodiscard]] Decision<BankFit> decide_banks(const BankCurve& curve, const BanksDecisionParameters& parameters = {});

// Of a conflict's cost: of the slope of the line, and no narrower than the drift of the clocks.
[[nodiscard]] stats::Interval conflict_interval(const BankFit& fit);

}  // namespace gputopo::probe
