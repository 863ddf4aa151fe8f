// Builds histograms of paired loads from literals.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "gputopo/program.h"
#include "stats/histogram.h"

namespace gputopo::truth {

inline void add_paired_load(stats::Histogram& histogram, int difference_cycles, std::uint32_t count = 1) {
  const auto raw = static_cast<std::uint32_t>(static_cast<int>(kPairedZeroCycles) + difference_cycles);
  histogram.resize(kHistogramBins);
  histogram[raw / kHistogramBinCycles] += count;
}

// Each pair is a number of loads and by how many cycles the first load took longer.
inline stats::Histogram paired_loads(const std::vector<std::pair<std::uint32_t, int>>& loads) {
  stats::Histogram histogram;
  for (const auto& [count, cycles] : loads) add_paired_load(histogram, cycles, count);
  return histogram;
}

// A part of the loads takes `miss_cycles` longer. All have normal noise.
inline stats::Histogram noisy_paired_loads(double missed_part, double miss_cycles, double noise_cycles,
                                           std::uint64_t seed = 1) {
  constexpr int kLoads = 20000;
  std::mt19937_64 random(seed);
  std::normal_distribution<double> noise(0, noise_cycles);
  std::uniform_real_distribution<double> uniform(0, 1);
  stats::Histogram histogram;
  for (int i = 0; i < kLoads; ++i) {
    const double cycles = (uniform(random) < missed_part ? miss_cycles : 0) + noise(random);
    add_paired_load(histogram, static_cast<int>(std::lround(cycles)));
  }
  return histogram;
}

}  // namespace gputopo::truth
