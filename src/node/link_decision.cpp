#include "node/link_decision.h"

#include <algorithm>

#include "stats/descriptive.h"

namespace gputopo::node {
namespace {

// Returns the size at which the rate crosses half of the full rate, or 0 if it never does.
double crossing(std::span<const SizeSample> sweep, double half_rate) {
  for (std::size_t i = 1; i < sweep.size(); ++i) {
    const auto rate = [&](std::size_t at) { return static_cast<double>(sweep[at].bytes) / sweep[at].seconds; };
    const double before = rate(i - 1);
    const double after = rate(i);
    if (before >= half_rate || after < half_rate) continue;
    // Interpolates: between two sizes, the time of a copy is a fixed part plus a part per byte.
    const double step = static_cast<double>(sweep[i].bytes - sweep[i - 1].bytes);
    const double per_byte = (sweep[i].seconds - sweep[i - 1].seconds) / step;
    const double beside = sweep[i - 1].seconds - per_byte * static_cast<double>(sweep[i - 1].bytes);
    return half_rate * beside / (1 - half_rate * per_byte);
  }
  return 0;
}

}  // namespace

Estimate estimate(std::span<const double> samples) {
  if (samples.empty()) return {};
  const auto [least, most] = std::ranges::minmax(samples);
  return {stats::median(samples), least, most};
}

Estimate half_bandwidth_size(std::span<const std::vector<SizeSample>> runs, const Estimate& bandwidth) {
  const auto places_at = [&](double rate) {
    std::vector<double> places;
    for (const std::vector<SizeSample>& run : runs) places.push_back(crossing(run, rate / 2));
    return estimate(places);
  };
  const Estimate middle = places_at(bandwidth.value);
  if (middle.low <= 0) return {};
  // A higher bandwidth needs larger copies to reach half of it.
  const Estimate least = places_at(bandwidth.low);
  const Estimate most = places_at(bandwidth.high);
  return {middle.value, least.low > 0 ? std::min(least.low, middle.low) : middle.low, std::max(most.high, middle.high)};
}

std::vector<double> rates_beside(double bytes, std::span<const double> seconds, std::span<const double> rates_alone) {
  const double first_end = std::ranges::min(seconds);
  std::vector<double> rates;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    const double after = (seconds[i] - first_end) * rates_alone[i];
    // Noise may suggest more; at most all bytes moved after the other's end.
    rates.push_back(std::max(bytes - after, 0.0) / first_end);
  }
  return rates;
}

bool have_similar_spread(double spread, double spread_before) {
  constexpr double kAlike = 1.5;  // ranges of two sets of seven runs differ by up to this factor
  return std::max(spread, spread_before) <= kAlike * std::min(spread, spread_before);
}

AtOnce concurrent_rates(double bytes, std::span<const double> seconds, std::span<const double> begins) {
  // A transfer that begins later than the first one of its GPU, by this fraction of its own time, waited for its turn.
  // Larger values count waiting transfers as simultaneous; smaller values mistake the driver's launch time for waiting.
  constexpr double kWaits = 0.1;
  AtOnce found;
  for (std::size_t i = 0; i < begins.size(); ++i) found.in_turn |= begins[i] > kWaits * seconds[i];
  double last_end = 0;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    const double end = seconds[i] + (found.in_turn ? begins[i] : 0);
    last_end = std::max(last_end, end);
    found.rates.push_back(bytes / end);
    found.total += bytes / end;
  }
  if (found.in_turn) found.total = bytes * static_cast<double>(seconds.size()) / last_end;
  return found;
}

Sharing decide_sharing(std::span<const double> least_shares) {
  const auto [least, most] = std::ranges::minmax(least_shares);
  if (least >= kOwnShare) return Sharing::kNothing;
  return most < kOwnShare ? Sharing::kAPart : Sharing::kUnclear;
}

bool is_decided(std::span<const double> least_shares) {
  constexpr double kMargin = 0.03;  // runs of one pair on an idle node of eight differ by 1 to 5%
  if (least_shares.empty()) return false;
  if (least_shares.size() == 1) return least_shares.front() >= kOwnShare + kMargin;
  const double most = std::ranges::max(least_shares);
  return least_shares.size() >= kSharingRuns || most <= kOwnShare - kMargin ||
         decide_sharing(least_shares) == Sharing::kUnclear;
}

std::vector<double> shares(std::span<const double> rates_alone, std::span<const double> rates_together) {
  std::vector<double> result;
  for (std::size_t i = 0; i < rates_alone.size() && i < rates_together.size(); ++i) {
    result.push_back(rates_alone[i] > 0 ? rates_together[i] / rates_alone[i] : 0);
  }
  return result;
}

}  // namespace gputopo::node
