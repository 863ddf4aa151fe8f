// Which number and width of banks explain what a warp's accesses to shared memory cost at every stride.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "probe/bench/conditions.h"
#include "probe/bench/decision.h"
#include "stats/descriptive.h"

namespace gputopo::probe {

struct BankShape {
  std::uint32_t bank_bytes;
  std::uint32_t interleave_bytes;  // so many lie in one bank before those of the next begin
};

struct BanksDecisionParameters {
  // What is tried: past GPUs had 16 or 32 banks of 4 or 8 bytes, of which Kepler's hold 4 or 8 bytes in a row, and
  // served a half-warp or a warp at once; a wavefront of 64 lanes has halves of 32. More: layouts that no GPU has may
  // explain noise as well.
  std::array<std::uint32_t, 4> banks = {8, 16, 32, 64};
  std::array<BankShape, 4> shapes = {{{4, 4}, {8, 8}, {16, 16}, {8, 4}}};
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
  // So many successive bytes lie in one bank, and the next in the next; 0: bank_bytes. Where it is less, a row of a
  // bank holds words that lie `banks` words apart.
  std::uint32_t interleave_bytes = 0;
  [[nodiscard]] std::uint32_t interleave() const { return interleave_bytes == 0 ? bank_bytes : interleave_bytes; }
  friend bool operator==(const BankLayout&, const BankLayout&) = default;
};

// What the lanes of a warp access: so many bytes each, `stride_bytes` apart, within the first `span_bytes`.
struct LaneBytes {
  std::uint32_t stride_bytes = 0;
  std::uint32_t word_bytes = 4;
  std::uint64_t span_bytes = UINT64_MAX;
};
// Passes over the banks that an access of a warp takes.
[[nodiscard]] std::uint32_t passes_of(const BankLayout& layout, const LaneBytes& access);
// Those beyond the first of each request when the lanes access words `stride_bytes` apart.
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

// What a warp's loads of one width cost: at strides, and where lanes come back to words of others.
struct RequestCurve {
  std::vector<LaneBytes> accesses;
  std::vector<double> cycles;  // of a dependent load
};

struct RequestDecisionParameters {
  // Lanes of a request that are tried.
  std::array<std::uint32_t, 5> lanes_at_once = {4, 8, 16, 32, 64};
  // As BanksDecisionParameters.
  double max_residual = 0.35;
  double clear = 4;
  // A pass over the banks costs as much whatever the width of the loads: at most so many times more or less. Larger: a
  // number of lanes may be taken for another one, of passes that cost twice as much.
  double same_cost = 1.4;
};

struct RequestFit {
  std::uint32_t lanes_at_once = 0;
  double pass_cycles = 0;
  double residual_cycles = 0;
};

// How many lanes of `fit`'s layout one request of loads of this width serves.
[[nodiscard]] Decision<RequestFit> decide_request(const RequestCurve& curve, const BankFit& fit,
                                                  const RequestDecisionParameters& parameters = {});

// Of a conflict's cost: of the slope of the line, and no narrower than the drift of the clocks.
[[nodiscard]] stats::Interval conflict_interval(const BankFit& fit);

}  // namespace gputopo::probe
