#include "device/sim/noise.h"

#include <algorithm>
#include <array>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <numbers>

namespace gputopo::sim {
namespace {

constexpr std::size_t kGaussianEntries = 4096;
constexpr double kDriftPrograms = 1000;            // one slow oscillation
constexpr double kInterferenceOutlierFraction = 0.05;

// Quantiles of the standard normal distribution: a random entry is a gaussian number without a logarithm per load.
std::array<float, kGaussianEntries> make_gaussian_table() {
  std::array<float, kGaussianEntries> table{};
  const boost::math::normal normal;
  for (std::size_t i = 0; i < table.size(); ++i) {
    table[i] = static_cast<float>(quantile(normal, (static_cast<double>(i) + 0.5) / kGaussianEntries));
  }
  return table;
}

}  // namespace

Noise::Noise(const NoiseSpec& spec, std::uint64_t seed) : spec_(spec), seed_(seed), random_(seed) {}

void Noise::start_program(std::uint64_t index) {
  random_ = RandomSource(derive_seed(seed_, index));
  interferes_ = spec_.interference_probability > 0 && random_.unit() <= spec_.interference_probability;
  const double phase = 2 * std::numbers::pi * static_cast<double>(index) / kDriftPrograms;
  drift_factor_ = 1 + spec_.drift_fraction * std::sin(phase);
  const double outliers =
      std::min(1.0, spec_.outlier_probability + (interferes_ ? kInterferenceOutlierFraction : 0.0));
  outlier_threshold_ = static_cast<std::uint64_t>(outliers * 0x1.0p32);
  quiet_ = outlier_threshold_ == 0 && spec_.jitter_cycles == 0 && spec_.drift_fraction == 0;
}

Noise::Sample Noise::next() {
  const std::uint64_t bits = random_.next();
  Sample sample{.factor = drift_factor_, .added_cycles = spec_.jitter_cycles * gaussian(bits)};
  if ((bits >> 32) < outlier_threshold_) {
    sample.added_cycles -= spec_.outlier_cycles * std::log(random_.unit());
    sample.evicted = interferes_;
  }
  return sample;
}

double Noise::bandwidth_factor() { return std::max(0.01, 1 + spec_.bandwidth_sigma * gaussian(random_.next())); }

double Noise::gaussian(std::uint64_t bits) const {
  static const std::array<float, kGaussianEntries> table = make_gaussian_table();
  return static_cast<double>(table[bits % kGaussianEntries]);
}

}  // namespace gputopo::sim
