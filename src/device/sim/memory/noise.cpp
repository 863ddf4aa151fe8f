#include "device/sim/memory/noise.h"

#include <algorithm>
#include <array>
#include <boost/math/distributions/normal.hpp>
#include <boost/random/binomial_distribution.hpp>
#include <boost/random/gamma_distribution.hpp>
#include <cmath>
#include <limits>
#include <numbers>

namespace gputopo::sim {
namespace {

constexpr double kDriftPrograms = 1000;  // period of the slow oscillation
constexpr double kInterferenceOutlierFraction = 0.05;
// From this many loads on, drawing how many of them take each number of cycles is faster than drawing each load.
constexpr std::uint64_t kManyLoads = 512;

// Quantiles of the standard normal distribution.
template <std::size_t kEntries>
const float* gaussian_table() {
  static const std::array<float, kEntries> table = [] {
    std::array<float, kEntries> quantiles{};
    const boost::math::normal normal;
    for (std::size_t i = 0; i < kEntries; ++i) {
      quantiles[i] = static_cast<float>(quantile(normal, (static_cast<double>(i) + 0.5) / kEntries));
    }
    return quantiles;
  }();
  return table.data();
}

// Draws the number of successes among `count` trials.
std::uint64_t binomial(RandomSource& random, std::uint64_t count, double probability) {
  if (count == 0 || probability <= 0) return 0;
  if (probability >= 1) return count;
  using Distribution = boost::random::binomial_distribution<std::int64_t>;
  return static_cast<std::uint64_t>(Distribution(static_cast<std::int64_t>(count), probability)(random));
}

// Rounds to whole cycles, at least one, as a clock does.
std::uint32_t raw_cycles(double cycles) { return static_cast<std::uint32_t>(std::max(1.0, cycles + 0.5)); }

}  // namespace

struct Noise::Timed {
  explicit Timed(std::uint64_t loads) : result{.loads = loads} {}

  StepResult result;
  std::uint64_t cycles = 0;
  std::array<std::uint32_t, kHistogramBins> histogram{};
  std::uint32_t bins = 0;  // number of bins in use; the others are 0

  void add(std::uint32_t raw, std::uint64_t count) {
    if (count == 0) return;
    const std::uint32_t bin = std::min(raw / kHistogramBinCycles, kHistogramBins - 1);
    histogram[bin] += static_cast<std::uint32_t>(count);
    bins = std::max(bins, bin + 1);
    cycles += raw * count;
  }
  [[nodiscard]] StepResult take() {
    result.total_cycles = cycles;
    result.histogram.assign(histogram.begin(), histogram.begin() + bins);
    return std::move(result);
  }
};

Noise::Noise(const NoiseSpec& spec, std::uint64_t seed, std::uint64_t index,
             const std::optional<NeighbourSpec>& neighbour)
    : spec_(spec), gaussian_(gaussian_table<kGaussianEntries>()), random_(derive_seed(seed, index)) {
  interferes_ = spec_.interference_probability > 0 && random_.unit() <= spec_.interference_probability;
  const double phase = 2 * std::numbers::pi * static_cast<double>(index) / kDriftPrograms;
  drift_factor_ = 1 + spec_.drift_fraction * std::sin(phase);
  if (neighbour && (neighbour->burst_programs == 0 || index / neighbour->burst_programs % 2 == 0)) {
    turn_cycles_ = neighbour->turn_cycles;
    other_turn_cycles_ = neighbour->neighbour_turn_cycles;
  }
}

std::uint64_t Noise::loads_to_disturbance() {
  if (!interferes_) return std::numeric_limits<std::uint64_t>::max();
  const double probability = std::min(1.0, spec_.outlier_probability + kInterferenceOutlierFraction);
  if (probability >= 1) return 0;
  return static_cast<std::uint64_t>(std::log(random_.unit()) / std::log1p(-probability));
}

double Noise::outlier_cycles() { return -spec_.outlier_cycles * std::log(random_.unit()); }

// A neighbor makes an outlier of each load that it disturbs, and of no other.
std::uint64_t Noise::outliers_among(const LoadClass& loads, std::uint64_t count) {
  if (interferes_) return loads.disturbed ? count : 0;
  return binomial(random_, count, spec_.outlier_probability);
}

double Noise::total_cycles(const StepBehaviour& behaviour) {
  double total = 0;
  for (const LoadClass& loads : behaviour.classes) {
    const auto count = static_cast<double>(loads.count);
    total += count * ordinary_cycles(loads);
    const std::uint64_t outliers = outliers_among(loads, loads.count);
    if (outliers == 0) continue;
    // The sum of this many exponentials.
    boost::random::gamma_distribution<double> sum(static_cast<double>(outliers), spec_.outlier_cycles);
    if (spec_.outlier_cycles > 0) total += sum(random_);
  }
  // A sum of Gaussians is a Gaussian.
  if (spec_.jitter_cycles > 0)
    total += spec_.jitter_cycles * std::sqrt(static_cast<double>(behaviour.loads)) * gaussian();
  return total;
}

StepResult Noise::timed(const StepBehaviour& behaviour, double timer_cycles) {
  Timed timed(behaviour.loads);
  timed.result.latencies.reserve(behaviour.first_loads.size());
  std::vector<LoadClass> rest = behaviour.classes;
  for (const std::uint8_t index : behaviour.first_loads) {
    LoadClass& loads = rest[index];
    --loads.count;
    double cycles = ordinary_cycles(loads) + timer_cycles;
    if (spec_.jitter_cycles > 0) cycles += spec_.jitter_cycles * gaussian();
    const bool outlier = interferes_ ? loads.disturbed : random_.unit() <= spec_.outlier_probability;
    if (outlier) cycles += outlier_cycles();
    timed.result.latencies.push_back(raw_cycles(cycles));
    timed.add(timed.result.latencies.back(), 1);
  }
  for (const LoadClass& loads : rest) {
    const std::uint64_t outliers = outliers_among(loads, loads.count);
    const double cycles = ordinary_cycles(loads) + timer_cycles;
    for (std::uint64_t i = 0; i < outliers; ++i) {
      timed.add(raw_cycles(cycles + spec_.jitter_cycles * gaussian() + outlier_cycles()), 1);
    }
    add_ordinary(timed, cycles, loads.count - outliers, spec_.jitter_cycles);
  }
  return timed.take();
}

StepResult Noise::paired(const StepBehaviour& behaviour) {
  Timed timed(behaviour.loads);
  const double jitter = std::numbers::sqrt2 * spec_.jitter_cycles;
  for (const LoadClass& pairs : behaviour.classes) {
    const double cycles = ordinary_cycles(pairs) + kPairedZeroCycles;
    // Outliers affect both loads of a pair alike, but a neighbor disturbs only the first.
    const std::uint64_t first = outliers_among(pairs, pairs.count);
    const std::uint64_t second = interferes_ ? 0 : outliers_among(pairs, pairs.count - first);
    for (std::uint64_t i = 0; i < first + second; ++i) {
      const double outlier = i < first ? outlier_cycles() : -outlier_cycles();
      timed.add(raw_cycles(cycles + jitter * gaussian() + outlier), 1);
    }
    add_ordinary(timed, cycles, pairs.count - first - second, jitter);
  }
  return timed.take();
}

void Noise::add_ordinary(Timed& timed, double cycles, std::uint64_t count, double jitter_cycles) {
  if (jitter_cycles == 0) return timed.add(raw_cycles(cycles), count);
  const auto raw_of = [&](float quantile) {
    return raw_cycles(cycles + jitter_cycles * static_cast<double>(quantile));
  };
  if (count < kManyLoads) {
    for (std::uint64_t i = 0; i < count; ++i) timed.add(raw_of(static_cast<float>(gaussian())), 1);
    return;
  }
  // The quantiles ascend, so those that give the same number of cycles are adjacent. Their share of the rest of the
  // table is the probability that one of the remaining loads takes that long.
  const float* const end = gaussian_ + kGaussianEntries;
  for (const float* first = gaussian_; first != end && count > 0;) {
    const std::uint32_t raw = raw_of(*first);
    const float* const next = std::partition_point(first, end, [&](float quantile) { return raw_of(quantile) == raw; });
    const std::uint64_t here =
        binomial(random_, count, static_cast<double>(next - first) / static_cast<double>(end - first));
    timed.add(raw, here);
    count -= here;
    first = next;
  }
}

double Noise::bandwidth_factor() { return std::max(0.01, 1 + spec_.bandwidth_sigma * gaussian()); }

}  // namespace gputopo::sim
