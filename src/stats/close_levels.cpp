#include "stats/close_levels.h"

#include <algorithm>
#include <cmath>

#include "gputopo/program.h"
#include "stats/descriptive.h"

namespace gputopo::stats {
namespace {

// The part of the loads in each latency bin.
using Density = std::vector<double>;

double cycles_of(std::size_t bin) { return (static_cast<double>(bin) + 0.5) * kHistogramBinCycles - 0.5; }

// The loads within the band; empty if the footprint does not count for it.
Histogram within(const Histogram& histogram, const Level& band, const CloseLevelParameters& parameters) {
  Histogram inside(histogram.size());
  for (std::size_t bin = 0; bin < histogram.size(); ++bin) {
    const double cycles = cycles_of(bin);
    if (cycles >= band.low_cycles && cycles < band.high_cycles) inside[bin] = histogram[bin];
  }
  const std::uint64_t count = total_count(inside);
  const bool tells = count >= parameters.least_loads &&
                     static_cast<double>(count) >= parameters.least_part * static_cast<double>(total_count(histogram));
  return tells ? inside : Histogram{};
}

Density density_of(std::span<const Histogram> histograms) {
  Histogram sum;
  for (const Histogram& one : histograms) accumulate(sum, one);
  const auto total = static_cast<double>(total_count(sum));
  Density density(sum.size());
  for (std::size_t bin = 0; bin < sum.size(); ++bin) density[bin] = sum[bin] / total;
  return density;
}

double part_up_to(const Density& density, std::size_t last) {
  double sum = 0;
  for (std::size_t bin = 0; bin < std::min(density.size(), last + 1); ++bin) sum += density[bin];
  return sum;
}

std::size_t median_bin(const Density& density) {
  const double half = part_up_to(density, density.size()) / 2;
  double sum = 0;
  for (std::size_t bin = 0; bin < density.size(); ++bin) {
    sum += density[bin];
    if (sum >= half && density[bin] > 0) return bin;
  }
  return 0;
}

// Interpolated within the bin.
double median_cycles(const Density& density) {
  const std::size_t bin = median_bin(density);
  const double here = part_up_to(density, bin);
  const double before = here - density[bin];
  const double part = (part_up_to(density, density.size()) / 2 - before) / density[bin];
  return (static_cast<double>(bin) + part) * kHistogramBinCycles - 0.5;
}

// The part of the loads of `mixed` that hit the nearer level, whose distribution is `near`. Only its faster half
// counts, plus `slack_bins`: clock drift of less than a bin moves all loads of a quiet level into the next bin.
double near_part(const Density& mixed, const Density& near, std::size_t slack_bins) {
  const std::size_t middle = median_bin(near) + slack_bins;
  return std::min(1.0, part_up_to(mixed, middle) / part_up_to(near, middle));
}

// `mixed` without that part of `near`.
Density without(const Density& mixed, const Density& near, double part) {
  Density rest(mixed.size());
  for (std::size_t bin = 0; bin < mixed.size(); ++bin) {
    rest[bin] = std::max(0.0, mixed[bin] - part * (bin < near.size() ? near[bin] : 0));
  }
  return rest;
}

// Draws the boundary where the fewest loads of either level lie on the other's side.
void draw_boundary(const Density& near, const Density& far, CloseLevels& levels) {
  const double all_far = part_up_to(far, far.size());
  levels.misjudged = 1;
  for (std::size_t bin = median_bin(near); bin < median_bin(far); ++bin) {
    const double of_near = 1 - part_up_to(near, bin);
    const double of_far = part_up_to(far, bin) / all_far;
    if (std::max(of_near, of_far) >= levels.misjudged) continue;
    levels.misjudged = std::max(of_near, of_far);
    levels.boundary_cycles = static_cast<double>(bin + 1) * kHistogramBinCycles;
  }
}

// The first footprint from which on each footprint has loads that do not hit the nearer level.
std::size_t first_beyond(std::span<const Histogram> telling, const Density& first, std::size_t slack_bins,
                         const CloseLevelParameters& parameters) {
  std::size_t beyond = telling.size();
  while (beyond > 0 && near_part(density_of(telling.subspan(beyond - 1, 1)), first, slack_bins) < parameters.all_near)
    --beyond;
  return beyond;
}

// A cache holds ever less of larger footprints. A share that falls once and then stays above a half comes from lines
// that are nearer by chance, as the few lines of small footprints may be.
bool stays_high(std::span<const double> parts, const CloseLevelParameters& parameters) {
  if (parts.size() < parameters.telling_footprints || std::ranges::min(parts) <= parameters.stays_above) return false;
  const std::size_t half = parts.size() / 2;
  return mean(parts.first(half)) - mean(parts.last(half)) < parameters.falls_by;
}

// Two levels, if at least `first_footprints` footprints hit the nearer level alone.
std::optional<CloseLevels> beyond_first(std::span<const Histogram> telling, std::size_t first_footprints,
                                        std::size_t slack_bins, const CloseLevelParameters& parameters) {
  if (telling.size() < first_footprints + parameters.least_footprints) return std::nullopt;
  const std::size_t beyond = first_beyond(telling, density_of(telling.first(first_footprints)), slack_bins, parameters);
  if (beyond < first_footprints || telling.size() - beyond < parameters.least_footprints) return std::nullopt;
  const Density near = density_of(telling.first(beyond));
  std::vector<double> parts;
  for (std::size_t i = beyond; i < telling.size(); ++i) {
    parts.push_back(near_part(density_of(telling.subspan(i, 1)), near, slack_bins));
  }
  const auto less = std::ranges::count_if(parts, [&](double part) { return part <= parameters.clearly_less; });
  if (static_cast<std::size_t>(less) < parameters.least_footprints || stays_high(parts, parameters)) {
    return std::nullopt;
  }
  const Density mixed = density_of(telling.subspan(beyond));
  const Density far = without(mixed, near, near_part(mixed, near, slack_bins));
  CloseLevels levels{.near_cycles = median_cycles(near), .far_cycles = median_cycles(far)};
  const double gap = levels.far_cycles - levels.near_cycles;
  if (gap < std::max(parameters.least_gap_cycles, parameters.least_gap * levels.near_cycles)) return std::nullopt;
  draw_boundary(near, far, levels);
  levels.is_distinguishable = levels.misjudged <= parameters.misjudged;
  return levels;
}

}  // namespace

std::optional<CloseLevels> find_close_levels(std::span<const Histogram> footprints, const Level& band,
                                             const CloseLevelParameters& parameters) {
  std::vector<Histogram> inside;
  for (const Histogram& footprint : footprints) {
    Histogram one = within(footprint, band, parameters);
    if (!one.empty()) inside.push_back(std::move(one));
  }
  std::optional<CloseLevels> found;
  for (std::size_t first = parameters.first_footprints; !found && first >= parameters.least_first_footprints; --first) {
    for (std::size_t slack = 0; !found && slack <= parameters.drift_bins; ++slack) {
      found = beyond_first(inside, first, slack, parameters);
    }
  }
  return found;
}

namespace {

// For two levels with a valley between their modes: the loads in the middle quarter between the modes, as a part of
// those equally close to the rarer mode. Only outliers lie there if the levels are clearly apart.
double overlap_of(std::span<const Histogram> footprints, const Level& near, const Level& far) {
  Histogram all;
  for (const Histogram& footprint : footprints) accumulate(all, footprint);
  const double gap = far.mode_cycles - near.mode_cycles;
  const double width = std::max(gap / 8, static_cast<double>(kHistogramBinCycles));
  const auto loads_about = [&](double cycles) {
    return fraction_below(all, cycles + width) - fraction_below(all, cycles - width);
  };
  const double rarer = std::min(loads_about(near.mode_cycles), loads_about(far.mode_cycles));
  return rarer <= 0 ? 1 : loads_about(near.mode_cycles + gap / 2) / rarer;
}

// The part of the loads of two levels with a valley between them that are on the other's side. A valley with many
// loads may still separate them if one has far more loads; then footprints of one level alone decide.
double misjudged_of(std::span<const Histogram> footprints, const Level& near, const Level& far,
                    const CloseLevelParameters& parameters) {
  const double overlap = overlap_of(footprints, near, far);
  if (far.mode_cycles >= (1 + parameters.surely_apart) * near.mode_cycles) {
    // For such levels: at most the part that seems to hit the nearer level at the footprint that hits it least.
    double least = parameters.misjudged;
    for (const Histogram& footprint : footprints) {
      const double nearer = fraction_below(footprint, near.high_cycles);
      const double either = fraction_below(footprint, far.high_cycles);
      if (either - nearer >= parameters.least_part) least = std::min(least, nearer / either);
    }
    return std::min(overlap, least);
  }
  if (overlap <= parameters.misjudged) return overlap;
  Level both = near;
  both.high_cycles = far.high_cycles;
  const std::optional<CloseLevels> found = find_close_levels(footprints, both, parameters);
  return found ? found->misjudged : overlap;
}

}  // namespace

std::vector<Level> split_close_levels(std::span<const Histogram> footprints, std::vector<Level> levels,
                                      std::optional<std::size_t>& unsure, const CloseLevelParameters& parameters) {
  // Farther levels have no tiny array of their own: their first footprints are mixtures.
  CloseLevelParameters farther = parameters;
  farther.least_first_footprints = parameters.first_footprints;
  const auto parameters_of = [&](std::size_t level) -> const CloseLevelParameters& {
    return level == 0 ? parameters : farther;
  };
  for (std::size_t i = 0; i + 1 < levels.size() && !unsure; ++i) {
    const double misjudged = misjudged_of(footprints, levels[i], levels[i + 1], parameters_of(i));
    if (misjudged > parameters.misjudged) unsure = i;
    levels[i].misjudged = std::max(levels[i].misjudged, misjudged);
    levels[i + 1].misjudged = misjudged;
  }
  // A level nearer than an unsure one may still be two levels.
  for (std::size_t i = 0; i < unsure.value_or(levels.size()); ++i) {
    const std::optional<CloseLevels> found = find_close_levels(footprints, levels[i], parameters_of(i));
    if (!found) continue;
    if (!found->is_distinguishable) {
      unsure = i;
      break;
    }
    Level far = levels[i];
    levels[i].high_cycles = far.low_cycles = found->boundary_cycles;
    levels[i].mode_cycles = found->near_cycles;
    levels[i].misjudged = std::max(levels[i].misjudged, found->misjudged);
    far.misjudged = levels[i].misjudged;
    far.mode_cycles = found->far_cycles;
    levels.insert(levels.begin() + static_cast<std::ptrdiff_t>(i) + 1, far);
    if (unsure) ++*unsure;
  }
  return levels;
}

}  // namespace gputopo::stats
