#include "probe/survey_decision.h"

#include <algorithm>
#include <cmath>

#include "stats/descriptive.h"

namespace gputopo::probe {
namespace {

double clamped(std::uint64_t bytes, std::uint64_t clamp_bytes) {
  return static_cast<double>(clamp_bytes == 0 ? bytes : std::min(bytes, clamp_bytes));
}

}  // namespace

std::vector<double> SweepPart::footprints() const {
  constexpr double kRounding = 1.001;  // of the sum of all steps
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

double nearest_limit_cycles(const stats::Histogram& tiny, const NearestLevelParameters& parameters) {
  const double spread = stats::histogram_quantile(tiny, parameters.spread_quantile);
  return spread + std::max(parameters.min_margin_cycles, parameters.margin * spread);
}

SweepReading read_sweep(std::span<const std::uint64_t> footprints_bytes, std::span<const stats::Histogram> histograms,
                        const stats::Histogram& tiny, const CacheBand& band, const SweepReadingParameters& parameters) {
  SweepReading reading;
  const double tiny_noise = 1 - stats::fraction_below(tiny, band.limit_cycles);
  std::vector<double> noises = {tiny_noise};
  for (std::size_t i = 0; i < footprints_bytes.size(); ++i) {
    const double hits = stats::fraction_below(histograms[i], band.limit_cycles);
    const auto bytes = static_cast<double>(footprints_bytes[i]);
    // The largest, even if a smaller one missed: what is part of an array that fits does too, so that was a neighbour.
    if (hits >= 1 - tiny_noise - parameters.fits_tolerance) {
      reading.fits_bytes = footprints_bytes[i];
      if (stats::total_count(histograms[i]) >= parameters.min_loads) noises.push_back(1 - hits);
    }
    const double nearer = stats::fraction_below(histograms[i], band.floor_cycles);
    reading.nearer_bytes = std::max(reading.nearer_bytes, static_cast<std::uint64_t>(nearer * bytes));
    reading.resident_bytes = std::max(reading.resident_bytes, (1 - (1 - hits) / band.misses_at_most) * bytes);
  }
  // The upper half of what fits may already hold the first misses.
  noises.resize((noises.size() + 1) / 2);
  reading.noise = stats::median(noises);
  return reading;
}

}  // namespace gputopo::probe
