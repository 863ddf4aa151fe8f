#include "stats/plateaus.h"

#include <algorithm>
#include <cmath>

#include "stats/descriptive.h"

namespace gputopo::stats {
namespace {

// The longest level run from `first` on, before `end`.
std::size_t level_until(std::span<const double> values, std::size_t first, std::size_t end, double tolerance) {
  double low = values[first];
  double high = values[first];
  std::size_t last = first;
  for (std::size_t i = first + 1; i < end; ++i) {
    low = std::min(low, values[i]);
    high = std::max(high, values[i]);
    if (high > low * (1 + tolerance)) break;
    last = i;
  }
  return last;
}

// Adds the plateaus among the points [begin, end): the widest, and what lies on either side of it.
void add_plateaus(std::span<const double> positions, std::span<const double> values, std::size_t begin, std::size_t end,
                  const PlateauParameters& parameters, std::vector<Plateau>& found) {
  double widest = 0;
  Plateau best;
  for (std::size_t first = begin; first < end; ++first) {
    const std::size_t last = level_until(values, first, end, parameters.tolerance);
    const double octaves = std::log2(positions[last] / positions[first]);
    constexpr std::size_t kLeastPoints = 3;
    if (last + 1 - first < kLeastPoints || octaves < parameters.least_octaves || octaves <= widest) continue;
    widest = octaves;
    best = {first, last, 0};
  }
  if (widest == 0) return;
  add_plateaus(positions, values, begin, best.first, parameters, found);
  found.push_back(best);
  add_plateaus(positions, values, best.last + 1, end, parameters, found);
}

}  // namespace

std::vector<Plateau> find_plateaus(std::span<const double> positions, std::span<const double> values,
                                   const PlateauParameters& parameters) {
  std::vector<Plateau> found;
  add_plateaus(positions, values, 0, values.size(), parameters, found);
  std::vector<Plateau> apart;
  for (Plateau plateau : found) {
    plateau.value = median(values.subspan(plateau.first, plateau.last + 1 - plateau.first));
    if (!apart.empty() && plateau.value < apart.back().value * (1 + parameters.least_rise)) {
      apart.back().last = plateau.last;
      continue;
    }
    apart.push_back(plateau);
  }
  return apart;
}

}  // namespace gputopo::stats
