// Pure functions that turn samples of transfers into values.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gputopo::node {

// The median of repeated runs, with the smallest and the largest run as its interval. With seven runs the interval
// holds the true median in 98% of cases, for any distribution (order statistics).
struct Estimate {
  double value = 0;
  double low = 0;
  double high = 0;
  // Full range relative to the median.
  [[nodiscard]] double spread() const { return value > 0 ? (high - low) / value : 0; }
};
[[nodiscard]] Estimate estimate(std::span<const double> samples);

inline constexpr std::size_t kRuns = 7;
// Runs of one transfer that differ by more than this shared the link with other traffic.
inline constexpr double kSteadySpread = 0.10;
// A transfer that keeps less of its rate than this beside another one shares a resource with it.
inline constexpr double kOwnShare = 0.90;

// Mean time of one copy in a row of copies of the same size.
struct SizeSample {
  std::uint64_t bytes = 0;
  double seconds = 0;  // time of one copy
  friend bool operator==(const SizeSample&, const SizeSample&) = default;
};

// Returns the size at which a copy reaches half of `bandwidth`, interpolated between two tried sizes. Each run has
// ascending sizes. The interval spans all runs and both ends of `bandwidth`. 0: no tried size reaches half, or all do.
[[nodiscard]] Estimate half_bandwidth_size(std::span<const std::vector<SizeSample>> runs, const Estimate& bandwidth);

// Rates of two transfers of `bytes` that start together, while both run. The slower then continues at its rate alone.
[[nodiscard]] std::vector<double> rates_beside(double bytes, std::span<const double> seconds,
                                               std::span<const double> rates_alone);

// True if two sets of runs vary about equally. Such variation is normal for the link, so more runs would not help.
[[nodiscard]] bool have_similar_spread(double spread, double spread_before);

// Several transfers of `bytes` each that start together.
struct AtOnce {
  std::vector<double> rates;  // per transfer; if in turn, from the common start to its own end
  double total = 0;           // sum of rates; if in turn, all bytes over the time to the last end
  bool in_turn = false;       // a copy engine served the transfers one after another
};
// `begins` is TransferResult's; empty if the device does not report it.
[[nodiscard]] AtOnce concurrent_rates(double bytes, std::span<const double> seconds, std::span<const double> begins);

// Whether two transfers share a resource, judged by the share of its rate that the slower one keeps in each run beside
// the other. Unclear: it keeps its own rate in some runs but not in others.
enum class Sharing : std::uint8_t { kNothing, kAPart, kUnclear };
inline constexpr std::size_t kSharingRuns = 3;
[[nodiscard]] Sharing decide_sharing(std::span<const double> least_shares);
// True if no further run can change the result: one run clearly shows no sharing (a disturbance only lowers a rate),
// two runs clearly show sharing, two runs contradict each other, or all runs are made.
[[nodiscard]] bool is_decided(std::span<const double> least_shares);

// Returns each transfer's rate together as a fraction of its rate alone.
[[nodiscard]] std::vector<double> shares(std::span<const double> rates_alone, std::span<const double> rates_together);

}  // namespace gputopo::node
