#include "stats/plateaus.h"

#include <algorithm>
#include <cmath>

#include "stats/descriptive.h"

namespace gputopo::stats {
namespace {

// The last index of the longest level run that begins at `first` and ends before `end`.
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

// Adds the plateaus among the points [begin, end): the widest one, then those on either side of it.
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

double quantile_of(std::span<const double> values, const Plateau& plateau, double part) {
  return quantile(values.subspan(plateau.first, plateau.last + 1 - plateau.first), part);
}

double octaves_of(std::span<const double> positions, const Plateau& plateau) {
  return std::log2(positions[plateau.last] / positions[plateau.first]);
}

bool is_wide_and_flat(std::span<const double> positions, std::span<const double> values, const Plateau& plateau,
                      const PlateauParameters& parameters) {
  return octaves_of(positions, plateau) >= parameters.flat_octaves &&
         quantile_of(values, plateau, 0.75) <= quantile_of(values, plateau, 0.25) * (1 + parameters.flat);
}

// Whether the later plateau is separate.
bool are_apart(std::span<const double> positions, std::span<const double> values, const Plateau& one,
               const Plateau& later, const PlateauParameters& parameters) {
  if (later.value >= one.value * (1 + parameters.least_rise)) return true;
  return is_wide_and_flat(positions, values, one, parameters) &&
         is_wide_and_flat(positions, values, later, parameters) &&
         quantile_of(values, later, 0.1) >= quantile_of(values, one, 0.9) * (1 + parameters.flat_rise);
}

// Whether the later plateau, which is not separate, may still be another level.
bool stays_higher(std::span<const double> positions, std::span<const double> values, const Plateau& one,
                  const Plateau& later, const PlateauParameters& parameters) {
  return octaves_of(positions, later) >= parameters.doubted_octaves &&
         later.value >= one.value * (1 + parameters.doubted_rise) &&
         values[later.last] - one.value >= parameters.doubted_end * (values[later.first] - one.value);
}

bool falls(std::span<const double> positions, std::span<const double> values, const Plateau& before_it,
           const Plateau& plateau, const PlateauParameters& parameters) {
  if (octaves_of(positions, plateau) >= parameters.narrow_octaves) return false;
  const std::size_t middle = (plateau.first + plateau.last + 1) / 2;
  const double before = median(values.subspan(plateau.first, middle - plateau.first));
  const double after = median(values.subspan(middle, plateau.last + 1 - middle));
  return before - after >= std::max(parameters.fall * before, parameters.fall_of_rise * (before - before_it.value));
}

}  // namespace

std::vector<Plateau> find_plateaus(std::span<const double> positions, std::span<const double> values,
                                   const PlateauParameters& parameters) {
  std::vector<Plateau> found;
  add_plateaus(positions, values, 0, values.size(), parameters, found);
  std::vector<Plateau> apart;
  for (Plateau plateau : found) {
    // The first plateau has none before it that could miss, so it may fall.
    if (!apart.empty() && falls(positions, values, apart.back(), plateau, parameters)) continue;
    plateau.value = median(values.subspan(plateau.first, plateau.last + 1 - plateau.first));
    if (!apart.empty() && !are_apart(positions, values, apart.back(), plateau, parameters)) {
      Plateau& one = apart.back();
      one.may_be_two = one.may_be_two || stays_higher(positions, values, one, plateau, parameters);
      one.last = plateau.last;
      continue;
    }
    apart.push_back(plateau);
  }
  return apart;
}

}  // namespace gputopo::stats
