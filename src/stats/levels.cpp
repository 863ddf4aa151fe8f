#include "stats/levels.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gputopo/program.h"

namespace gputopo::stats {
namespace {

// The density is estimated on a logarithmic grid, because the spread of latencies grows with them.
constexpr double kGridStart = 4;        // cycles
constexpr double kGridStep = 0.01;      // natural logarithm
constexpr std::size_t kGridSize = 640;  // up to 4 * exp(6.4) = 2,400 cycles, past the last histogram bin

double grid_cycles(std::size_t index) { return kGridStart * std::exp(kGridStep * static_cast<double>(index)); }

// The mean over footprints of each footprint's normalized, smoothed density.
std::vector<double> pooled_density(std::span<const Histogram> footprints, double relative_bandwidth) {
  std::vector<double> raw(kGridSize, 0.0);
  for (const Histogram& histogram : footprints) {
    const auto total = static_cast<double>(total_count(histogram));
    if (total == 0) continue;
    for (std::size_t bin = 0; bin < histogram.size(); ++bin) {
      if (histogram[bin] == 0) continue;
      const double cycles = (static_cast<double>(bin) + 0.5) * kHistogramBinCycles;
      const double position = std::log(std::max(cycles, kGridStart) / kGridStart) / kGridStep;
      raw[std::min(kGridSize - 1, static_cast<std::size_t>(position))] += histogram[bin] / total;
    }
  }
  const double sigma = relative_bandwidth / kGridStep;
  const auto reach = static_cast<std::ptrdiff_t>(std::ceil(4 * sigma));
  std::vector<double> kernel;
  for (std::ptrdiff_t d = -reach; d <= reach; ++d)
    kernel.push_back(std::exp(-0.5 * static_cast<double>(d * d) / (sigma * sigma)));
  std::vector<double> density(kGridSize, 0.0);
  for (std::size_t i = 0; i < kGridSize; ++i) {
    if (raw[i] == 0) continue;
    for (std::ptrdiff_t d = -reach; d <= reach; ++d) {
      const std::ptrdiff_t target = static_cast<std::ptrdiff_t>(i) + d;
      if (target >= 0 && target < static_cast<std::ptrdiff_t>(kGridSize)) {
        density[static_cast<std::size_t>(target)] += raw[i] * kernel[static_cast<std::size_t>(d + reach)];
      }
    }
  }
  return density;
}

struct Mode {
  std::size_t peak = 0;
  std::size_t begin = 0;  // begin of its basin on the grid
  std::size_t end = 0;
};

// Splits the grid at every valley: one mode per local maximum.
std::vector<Mode> split_at_valleys(const std::vector<double>& density) {
  std::vector<Mode> modes;
  std::size_t begin = 0;
  std::size_t peak = 0;
  bool falling = false;
  for (std::size_t i = 1; i < density.size(); ++i) {
    if (density[i] > density[i - 1]) {
      if (falling) {
        // A flat (empty) valley is cut in the middle.
        std::size_t flat = i - 1;
        while (flat > begin && density[flat - 1] <= density[i - 1]) --flat;
        const std::size_t cut = (flat + i) / 2;
        modes.push_back({peak, begin, cut});
        begin = cut;
        falling = false;
      }
      peak = i;
    } else if (density[i] < density[i - 1]) {
      falling = true;
    }
  }
  modes.push_back({peak, begin, density.size()});
  return modes;
}

void join(std::vector<Mode>& modes, std::size_t first, const std::vector<double>& density) {
  Mode& kept = modes[first];
  const Mode& gone = modes[first + 1];
  if (density[gone.peak] > density[kept.peak]) kept.peak = gone.peak;
  kept.end = gone.end;
  modes.erase(modes.begin() + static_cast<std::ptrdiff_t>(first) + 1);
}

// Joins the first pair of neighbors for which `same` holds, until there is none.
template <typename Same>
void join_while(std::vector<Mode>& modes, const std::vector<double>& density, Same same) {
  for (std::size_t i = 0; i + 1 < modes.size();) {
    if (same(modes[i], modes[i + 1])) {
      join(modes, i, density);
      i = 0;
    } else {
      ++i;
    }
  }
}

// A load beyond this counts as the farther mode's: the middle of the nearly empty stretch between the peaks, or the
// lowest point if no stretch is nearly empty. Joined outlier modes must not drag the boundary to their own edge.
double boundary_cycles(const std::vector<double>& density, std::size_t near_peak, std::size_t far_peak) {
  constexpr double kNearlyEmpty = 0.02;  // part of the lower peak
  const double limit = kNearlyEmpty * std::min(density[near_peak], density[far_peak]);
  std::size_t first = far_peak;
  std::size_t last = near_peak;
  std::size_t lowest = near_peak;
  for (std::size_t i = near_peak; i <= far_peak; ++i) {
    if (density[i] < density[lowest]) lowest = i;
    if (density[i] < limit) {
      first = std::min(first, i);
      last = std::max(last, i);
    }
  }
  return grid_cycles(first <= last ? (first + last) / 2 : lowest);
}

}  // namespace

std::vector<Level> find_levels(std::span<const Histogram> footprints, const LevelParameters& parameters) {
  const bool any =
      std::any_of(footprints.begin(), footprints.end(), [](const Histogram& h) { return total_count(h) > 0; });
  if (!any) return {};
  const std::vector<double> density = pooled_density(footprints, parameters.relative_bandwidth);
  std::vector<Mode> modes = split_at_valleys(density);

  const auto below = [&](const Histogram& histogram, std::size_t grid) {
    return fraction_below(histogram, grid_cycles(grid));
  };
  const auto weight_somewhere = [&](const Mode& mode) {
    double most = 0;
    for (const Histogram& h : footprints) most = std::max(most, below(h, mode.end) - below(h, mode.begin));
    return most;
  };
  join_while(modes, density, [&](const Mode& a, const Mode& b) {
    const double valley = density[std::min(a.end, density.size() - 1)];
    return valley > parameters.valley * std::min(density[a.peak], density[b.peak]);
  });
  join_while(modes, density, [&](const Mode& a, const Mode& b) {
    return weight_somewhere(a) < parameters.least_weight || weight_somewhere(b) < parameters.least_weight;
  });
  join_while(modes, density, [&](const Mode& a, const Mode&) {
    double most = 0;
    double least = 1;
    for (const Histogram& h : footprints) {
      most = std::max(most, below(h, a.end));
      least = std::min(least, below(h, a.end));
    }
    return most < parameters.fits_fraction || least > parameters.exceeds_fraction;
  });

  std::vector<Level> levels;
  for (std::size_t i = 0; i < modes.size(); ++i) {
    const bool last = i + 1 == modes.size();
    levels.push_back({.low_cycles = levels.empty() ? 0 : levels.back().high_cycles,
                      .high_cycles = last ? std::numeric_limits<double>::infinity()
                                          : boundary_cycles(density, modes[i].peak, modes[i + 1].peak),
                      .mode_cycles = grid_cycles(modes[i].peak)});
  }
  return levels;
}

}  // namespace gputopo::stats
