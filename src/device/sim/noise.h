// The noise of a simulated machine: what it adds to each latency. Seeded, and cheap enough to be asked for every load.
#pragma once

#include <cstdint>

#include "device/sim/machine.h"
#include "device/sim/random.h"

namespace gputopo::sim {

class Noise {
 public:
  Noise(const NoiseSpec& spec, std::uint64_t seed);

  // Program `index` begins: its drift, and whether a neighbour interferes with it.
  void start_program(std::uint64_t index);

  // True: latencies come out as they go in, so that nobody need ask.
  [[nodiscard]] bool is_quiet() const { return quiet_; }

  struct Sample {
    double factor = 1;  // of the latency
    double added_cycles = 0;
    bool evicted = false;  // a neighbour's load went through the shared caches first
  };
  Sample next() {
    const std::uint64_t bits = random_.next();
    Sample sample{.factor = drift_factor_, .added_cycles = spec_.jitter_cycles * gaussian(bits)};
    if ((bits >> 32) < outlier_threshold_) add_outlier(sample);
    return sample;
  }

  // A bandwidth's relative error: 1 + sigma * gaussian, never under 0.01.
  double bandwidth_factor();

 private:
  static constexpr std::size_t kGaussianEntries = 4096;

  // A gaussian number without a logarithm per load: a random entry of a table of quantiles.
  [[nodiscard]] double gaussian(std::uint64_t bits) const {
    return static_cast<double>(gaussian_[bits % kGaussianEntries]);
  }
  void add_outlier(Sample& sample);

  NoiseSpec spec_;
  const float* gaussian_;
  std::uint64_t seed_;
  RandomSource random_;
  bool quiet_ = true;
  bool interferes_ = false;
  double drift_factor_ = 1;
  std::uint64_t outlier_threshold_ = 0;  // of 2^32
};

}  // namespace gputopo::sim
