#include "probe/survey/sweep_decision.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "probe/survey/band_latency_decision.h"
#include "stats/descriptive.h"

namespace gputopo::probe {
namespace {

double clamped(std::uint64_t bytes, std::uint64_t clamp_bytes) {
  return static_cast<double>(clamp_bytes == 0 ? bytes : std::min(bytes, clamp_bytes));
}

double part_in(const stats::Histogram& loads, const stats::Level& level) {
  return part_between(loads, level.low_cycles, level.high_cycles);
}

}  // namespace

std::vector<double> SweepPart::footprints() const {
  constexpr double kRounding = 1.001;  // allows for the rounding errors of all steps
  std::vector<double> footprints;
  for (double bytes = from_bytes; bytes <= to_bytes * kRounding; bytes *= std::exp2(1 / per_octave)) {
    footprints.push_back(bytes);
  }
  return footprints;
}

SweepPart first_sweep_part(std::uint64_t clamp_bytes, const SweepParameters& parameters) {
  return {parameters.first_bytes, clamped(parameters.first_limit_bytes, clamp_bytes), parameters.per_octave,
          parameters.copies};
}

std::optional<SweepPart> next_sweep_part(double swept_bytes, double hits, std::uint64_t clamp_bytes,
                                         const SweepParameters& parameters) {
  const double last_limit = clamped(parameters.last_limit_bytes, clamp_bytes);
  if (swept_bytes >= last_limit || hits <= parameters.still_hits) return std::nullopt;
  return SweepPart{swept_bytes * std::exp2(1 / parameters.per_octave),
                   std::min(parameters.limit_growth * swept_bytes, last_limit), parameters.per_octave, 1};
}

SweepPart shared_sweep(double last_cache_bytes, const SweepParameters& parameters) {
  return {parameters.first_bytes_of_shared, parameters.beyond_last_cache * last_cache_bytes,
          parameters.per_octave_of_shared, 1};
}

std::optional<SweepPart> next_shared_sweep(double swept_bytes, double nearer, std::uint64_t memory_bytes,
                                           const SweepParameters& parameters) {
  const auto last_limit =
      static_cast<double>(std::min(parameters.last_limit_bytes_of_shared, memory_bytes / parameters.memory_divisor));
  const double from_bytes = swept_bytes * std::exp2(1 / parameters.per_octave_of_shared);
  if (from_bytes > last_limit || nearer <= parameters.still_nearer) return std::nullopt;
  return SweepPart{from_bytes, std::min(parameters.beyond_last_cache * swept_bytes, last_limit),
                   parameters.per_octave_of_shared, 1};
}

double part_before_memory(const stats::Histogram& footprint, const std::vector<stats::Level>& levels,
                          const stats::Histogram& cold, const SweepParameters& parameters) {
  for (const stats::Level& level : levels) {
    if (part_in(cold, level) >= parameters.of_cold) return stats::fraction_below(footprint, level.low_cycles);
  }
  return 0;
}

namespace {

bool is_clearly_nearer(double cycles, double cold_cycles, const SweepParameters& parameters) {
  return cycles + parameters.clear_of_cold_cycles <= cold_cycles &&
         cycles <= (1 - parameters.clear_of_cold) * cold_cycles;
}

}  // namespace

bool is_nearer_than_memory(const stats::Histogram& footprint, const stats::Histogram& cold,
                           const SweepParameters& parameters) {
  return is_clearly_nearer(stats::histogram_quantile(footprint, 0.5), stats::histogram_quantile(cold, 0.5), parameters);
}

bool last_level_is_mixed(std::span<const stats::Histogram> footprints, const std::vector<stats::Level>& levels,
                         const stats::Histogram& cold, const MixedLevelParameters& parameters) {
  const double low = levels.back().low_cycles;
  const auto median_beyond = [low](const stats::Histogram& loads) {
    const double nearer = stats::fraction_below(loads, low);
    return stats::histogram_quantile(loads, nearer + (1 - nearer) / 2);
  };
  if (stats::total_count(cold) == 0 || stats::fraction_below(cold, low) == 1) return false;
  const double of_cold = median_beyond(cold);
  return std::ranges::any_of(footprints, [&](const stats::Histogram& loads) {
    return 1 - stats::fraction_below(loads, low) >= parameters.least_part &&
           is_clearly_nearer(median_beyond(loads), of_cold, parameters.sweep);
  });
}

double nearest_limit_cycles(const stats::Histogram& tiny, const NearestLevelParameters& parameters) {
  const double spread = stats::histogram_quantile(tiny, parameters.spread_quantile);
  return spread + std::max(parameters.min_margin_cycles, parameters.margin * spread);
}

bool tiny_array_is_two(const stats::Histogram& tiny, const stats::Level& nearest,
                       const TinyArrayParameters& parameters) {
  const double mode = nearest.mode_cycles;
  const double clear = std::max(parameters.nearer_part * mode, parameters.nearer_cycles);
  const double nearer = stats::fraction_below(tiny, mode - clear);
  const double at_level = 1 - stats::fraction_below(tiny, mode - clear / 2);
  return nearer >= parameters.least_nearer && at_level >= parameters.least_at_level;
}

bool is_memory_alone(double hit_cycles, double cold_cycles, const OneLevelParameters& parameters) {
  return std::abs(cold_cycles - hit_cycles) <= parameters.same_part * hit_cycles;
}

bool shows_all_levels(const stats::Histogram& footprint, const std::vector<stats::Level>& levels,
                      const TranslatedLevelParameters& parameters) {
  return levels.size() >= 2 && stats::fraction_below(footprint, levels.back().low_cycles) <= parameters.exceeded_hits;
}

std::vector<stats::Level> levels_without_translation(const std::vector<stats::Level>& of_free,
                                                     const std::vector<stats::Level>& of_all,
                                                     const std::vector<double>& added_cycles,
                                                     const TranslatedLevelParameters& parameters) {
  const auto same = [&](double one, double other) {
    return std::abs(one - other) <= std::max(parameters.same_cycles, parameters.same_part * other);
  };
  std::vector<stats::Level> kept;
  for (const stats::Level& level : of_all) {
    const bool of_free_too =
        std::ranges::any_of(of_free, [&](const stats::Level& one) { return same(level.mode_cycles, one.mode_cycles); });
    const bool is_nearer_and_miss = std::ranges::any_of(kept, [&](const stats::Level& one) {
      return std::ranges::any_of(added_cycles,
                                 [&](double added) { return same(level.mode_cycles, one.mode_cycles + added); });
    });
    if (of_free_too || !is_nearer_and_miss) kept.push_back(level);
  }
  if (kept.empty()) return of_free;
  for (std::size_t i = 0; i + 1 < kept.size(); ++i) {
    const double nearer = kept[i].mode_cycles + added_cycles.back();
    const double farther = kept[i + 1].mode_cycles;
    // Farther loads that also wait for a miss are even slower.
    kept[i].high_cycles = kept[i + 1].low_cycles = std::max((nearer + farther) / 2, kept[i].mode_cycles);
  }
  kept.front().low_cycles = 0;
  kept.back().high_cycles = std::numeric_limits<double>::infinity();
  return kept;
}

std::optional<std::size_t> level_hidden_by_translation(const std::vector<stats::Level>& levels,
                                                       const std::vector<double>& added_cycles,
                                                       const TranslatedLevelParameters& parameters) {
  for (std::size_t i = 0; i + 1 < levels.size(); ++i) {
    const double clear = parameters.clear_part * levels[i + 1].mode_cycles;
    if (levels[i].mode_cycles + added_cycles.back() + clear > levels[i + 1].mode_cycles) return i;
  }
  return std::nullopt;
}

std::vector<stats::Level> with_memory_as_one(std::vector<stats::Level> levels,
                                             std::span<const stats::Histogram> footprints, const stats::Histogram& cold,
                                             const MemoryLevelsParameters& parameters) {
  // The first level is not memory, or there would be no cache.
  while (levels.size() > 2) {
    const stats::Level& last = levels.back();
    const stats::Level& before = levels[levels.size() - 2];
    const bool is_alone = std::ranges::any_of(footprints, [&](const stats::Histogram& loads) {
      return part_in(loads, before) > parameters.without_farther && part_in(loads, last) < parameters.hardly_any;
    });
    const bool may_be_far_part = levels.size() <= parameters.levels_of_caches + 1;
    // If so, the last level is memory with pages that are far apart.
    const bool is_memory = part_in(cold, before) >= parameters.nearly_all_cold;
    if (!is_memory && is_alone && may_be_far_part) break;
    if (!is_memory && part_in(cold, before) < parameters.of_cold) break;
    if (!is_memory && part_in(cold, last) < parameters.of_cold) break;
    levels[levels.size() - 2].high_cycles = last.high_cycles;
    levels.pop_back();
  }
  return levels;
}

std::vector<CountedPlace> counted_places(std::uint64_t elements, std::uint64_t loads, std::uint64_t seed,
                                         const CountedPlacesParameters& parameters) {
  const std::uint64_t of_place = std::min(parameters.loads_of_place, std::max<std::uint64_t>(1, elements - 1));
  const std::uint64_t room = std::min(parameters.most_places, std::max<std::uint64_t>(1, elements / (of_place + 1)));
  const std::uint64_t count = std::clamp<std::uint64_t>(loads / of_place, 1, room);
  std::mt19937_64 random(seed);
  std::vector<CountedPlace> places;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t begin = i * elements / count;
    const std::uint64_t end = (i + 1) * elements / count;
    const std::uint64_t spare = end - begin > of_place ? end - begin - of_place : 1;
    places.push_back({.first = begin + random() % spare, .loads = of_place});
  }
  return places;
}

SweepReading read_sweep(std::span<const std::uint64_t> footprints_bytes, std::span<const stats::Histogram> histograms,
                        const stats::Histogram& tiny, const CacheBand& band, const SweepReadingParameters& parameters) {
  SweepReading reading;
  const double tiny_noise = 1 - stats::fraction_below(tiny, band.limit_cycles);
  std::vector<double> noises = {tiny_noise};
  if (tiny_noise <= parameters.tiny_misses) reading.fits_bytes = band.tiny_bytes;
  for (std::size_t i = 0; i < footprints_bytes.size(); ++i) {
    const double hits = stats::fraction_below(histograms[i], band.limit_cycles);
    const auto bytes = static_cast<double>(footprints_bytes[i]);
    // The largest counts even if a smaller one missed: parts of an array that fits also fit, so a neighbor intervened.
    if (hits >= 1 - tiny_noise - parameters.fits_tolerance) {
      reading.fits_bytes = footprints_bytes[i];
      if (stats::total_count(histograms[i]) >= parameters.min_loads) noises.push_back(1 - hits);
    }
    const double nearer = stats::fraction_below(histograms[i], band.floor_cycles);
    reading.nearer_bytes = std::max(reading.nearer_bytes, static_cast<std::uint64_t>(nearer * bytes));
    // Hits this rare may all be misses that look like hits.
    if (hits <= parameters.misjudged_at_most * band.misjudged) continue;
    reading.resident_bytes = std::max(reading.resident_bytes, (1 - (1 - hits) / band.misses_at_most) * bytes);
  }
  // The upper half of the footprints that fit may already contain the first misses.
  noises.resize((noises.size() + 1) / 2);
  reading.noise = stats::median(noises);
  return reading;
}

}  // namespace gputopo::probe
