// The number and width of banks that explain the cost of a warp's accesses to shared memory at every stride.
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
  std::uint32_t interleave_bytes;  // consecutive bytes in one bank before the next one begins
};

struct BanksDecisionParameters {
  // Layouts to try. Past GPUs have 16 or 32 banks of 4 or 8 bytes, of which Kepler's hold 4 or 8 consecutive bytes,
  // and serve a half-warp or a warp at once; a wavefront of 64 lanes has halves of 32. More layouts, which no GPU has,
  // may also explain noise.
  std::array<std::uint32_t, 4> banks = {8, 16, 32, 64};
  std::array<BankShape, 4> shapes = {{{4, 4}, {8, 8}, {16, 16}, {8, 4}}};
  std::array<std::uint32_t, 3> lanes_at_once = {16, 32, 64};
  // A layout explains the curve if its residual is less than this part of a conflict. With a residual of half a
  // conflict, neighboring degrees of conflict cannot be told apart.
  double max_residual = 0.35;
  // Least ratio of the squared residuals of any other layout and the best. Larger values leave more layouts ambiguous.
  double clear = 4;
  // Smaller conflicts disappear in noise: all strides would look alike.
  double least_conflict_cycles = 0.25;
  // A line fits any two strides.
  std::size_t least_strides = 3;
};

// How a warp's accesses are served: one pass for each row of a bank that lanes of one request access.
struct BankLayout {
  std::uint32_t banks = 0;
  std::uint32_t bank_bytes = 0;
  std::uint32_t lanes_at_once = 0;  // lanes of one request; a warp makes as many requests as it needs
  std::uint32_t warp_lanes = 32;
  // Consecutive bytes in one bank before the next one begins; 0: bank_bytes. If less than bank_bytes, a row of a bank
  // holds words that lie `banks` words apart.
  std::uint32_t interleave_bytes = 0;
  [[nodiscard]] std::uint32_t interleave() const { return interleave_bytes == 0 ? bank_bytes : interleave_bytes; }
  friend bool operator==(const BankLayout&, const BankLayout&) = default;
};

// The bytes that the lanes of a warp access: `word_bytes` each, `stride_bytes` apart, within the first `span_bytes`.
struct LaneBytes {
  std::uint32_t stride_bytes = 0;
  std::uint32_t word_bytes = 4;
  std::uint64_t span_bytes = UINT64_MAX;
};
// Passes over the banks that a warp's access takes.
[[nodiscard]] std::uint32_t passes_of(const BankLayout& layout, const LaneBytes& access);
// Passes beyond the first of each request when lanes access words `stride_bytes` apart.
[[nodiscard]] std::uint32_t conflicts_of(const BankLayout& layout, std::uint32_t stride_bytes);

// The cost of a warp's access at strides of 0 to 64 words.
struct BankCurve {
  std::uint32_t warp_lanes = 32;
  std::vector<double> strides_bytes;
  std::vector<double> load_cycles;   // of dependent loads
  std::vector<double> store_cycles;  // of back-to-back stores
  Conditions conditions;
};

// Conflicts at each stride of the curve.
[[nodiscard]] std::vector<double> conflicts_along(const BankLayout& layout, const BankCurve& curve);

// The layout that explains a curve, and the line of cycles over its conflicts.
struct BankFit {
  BankLayout layout;
  double free_cycles = 0;       // without conflicts
  double conflict_cycles = 0;   // of each conflict
  double error_cycles = 0;      // standard error of conflict_cycles
  double residual_cycles = 0;   // root mean square
  bool lanes_are_clear = true;  // no other lanes_at_once explains the curve about as well
};

// No value if no layout explains the curve, or if two do.
[[nodiscard]] Decision<BankFit> decide_banks(const BankCurve& curve, const BanksDecisionParameters& parameters = {});

// The cost of a warp's loads of one width, at strides and with words that lanes share.
struct RequestCurve {
  std::vector<LaneBytes> accesses;
  std::vector<double> cycles;  // of a dependent load
};

struct RequestDecisionParameters {
  // Numbers of lanes per request to try.
  std::array<std::uint32_t, 5> lanes_at_once = {4, 8, 16, 32, 64};
  // As in BanksDecisionParameters.
  double max_residual = 0.35;
  double clear = 4;
  // Largest ratio of the costs of a pass and a conflict, because a pass costs the same at every width of load. Larger
  // values may confuse a number of lanes with one whose passes cost twice as much.
  double same_cost = 1.4;
};

struct RequestFit {
  std::uint32_t lanes_at_once = 0;
  double pass_cycles = 0;
  double residual_cycles = 0;
};

// How many lanes one request of this width serves in the layout of `fit`.
[[nodiscard]] Decision<RequestFit> decide_request(const RequestCurve& curve, const BankFit& fit,
                                                  const RequestDecisionParameters& parameters = {});

// Interval of the cost of a conflict: that of the slope, at least as wide as clock drift.
[[nodiscard]] stats::Interval conflict_interval(const BankFit& fit);

}  // namespace gputopo::probe
