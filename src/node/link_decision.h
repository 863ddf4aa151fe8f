// From samples of transfers to values: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gputopo::node {

// The median of runs that were made in the same way, between the least and the greatest: of seven, an interval that
// holds the median of all in 98% (order statistics), whatever their distribution.
struct Estimate {
  double value = 0;
  double low = 0;
  double high = 0;
  // From the least to the greatest, as a part of the median.
  [[nodiscard]] double spread() const { return value > 0 ? (high - low) / value : 0; }
};
[[nodiscard]] Estimate estimate(std::span<const double> samples);

inline constexpr std::size_t kRuns = 7;
// Runs of one transfer that lie further apart met others on the link.
inline constexpr double kSteadySpread = 0.10;
// Beside others a transfer keeps this part of its rate, or they share something.
inline constexpr double kOwnShare = 0.90;

// Of a row of copies of growing size, how long one takes.
struct SizeSample {
  std::uint64_t bytes = 0;
  double seconds = 0;  // of one
  friend bool operator==(const SizeSample&, const SizeSample&) = default;
};

// The size at which a copy gets half of `bandwidth`, between two sizes that were tried, which each run has in ascending
// order. The interval is what the least and the greatest of runs and bandwidths give. Value 0: no size does, or all do.
[[nodiscard]] Estimate half_bandwidth_size(std::span<const std::vector<SizeSample>> runs, const Estimate& bandwidth);

// Two transfers of `bytes` each that began together and took `seconds`: what each got while both ran. The slower went
// on alone when the other had ended, at its rate alone.
[[nodiscard]] std::vector<double> rates_beside(double bytes, std::span<const double> seconds,
                                               std::span<const double> rates_alone);

// Whether runs that vary do so again as those before them: that is their way, and not a disturbance that will be over.
[[nodiscard]] bool vary_alike(double spread, double spread_before);

// Several transfers of `bytes` each that were let go together.
struct AtOnce {
  std::vector<double> rates;  // of each, from when all were let go to its own end where they went in turn
  double total = 0;           // of all: the sum of rates, or all bytes until the last end where they went in turn
  bool in_turn = false;       // an engine took one after another
};
// `begins` as TransferResult's; empty: not told.
[[nodiscard]] AtOnce rates_at_once(double bytes, std::span<const double> seconds, std::span<const double> begins);

// Whether two transfers share a part, by what the slower keeps of its rate in each run beside the other. Unclear: they
// kept their own share in some runs and not in others.
enum class Sharing : std::uint8_t { kNothing, kAPart, kUnclear };
inline constexpr std::size_t kSharingRuns = 3;
[[nodiscard]] Sharing decide_sharing(std::span<const double> least_shares);
// Whether no further run would change that: one in which they clearly share nothing, since what disturbs a run only
// takes from it; two that clearly share; two that contradict each other; or all.
[[nodiscard]] bool is_decided(std::span<const double> least_shares);

// By transfer: its part of the rate that it has alone.
[[nodiscard]] std::vector<double> shares(std::span<const double> rates_alone, std::span<const double> rates_together);

}  // namespace gputopo::node
