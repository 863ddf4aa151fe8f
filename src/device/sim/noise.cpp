#include "device/sim/noise.h"

#include <algorithm>
#include <array>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <numbers>

namespace gputopo::sim {
namespace {

constexpr double kDriftPrograms = 1000;  // one slow oscillation
constexpr double kInterferenceOutlierFraction = 0.05;

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

}  // namespace

Noise::Noise(const NoiseSpec& spec, std::uint64_t seed)
    : spec_(spec), gaussian_(gaussian_table<kGaussianEntries>()), seed_(seed), random_(seed) {}

void Noise::start_program(std::uint64_t index) {
  random_ = RandomSource(derive_seed(seed_, index));
  interferes_ = spec_.interference_probability > 0 && random_.unit() <= spec_.interference_probability;
  const double phase = 2 * std::numbers::pi * static_cast<double>(index) / kDriftPrograms;
  drift_factor_ = 1 + spec_.drift_fraction * std::sin(phase);
  const double outliers = std::min(1.0, spec_.outlier_probability + (interferes_ ? kInterferenceOutlierFraction : 0.0));
  outlier_threshold_ = static_cast<std::uint64_t>(outliers * 0x1.0p32);
  quiet_ = outlier_threshold_ == 0 && spec_.jitter_cycles == 0 && spec_.drift_fraction == 0;
}

void Noise::add_outlier(Sample& sample) {
  sample.added_cycles -= spec_.outlier_cycles * std::log(random_.unit());
  sample.evicted = interferes_;
}

double Noise::bandwidth_factor() { return std::max(0.01, 1 + spec_.bandwidth_sigma * gaussian(random_.next())); }

}  // namespace gputopo::sim
