#include "probe/capacity/fitting_footprint_decision.h"

#include <algorithm>
#include <cmath>

namespace gputopo::probe {

bool misses_beyond_noise(const FootprintMisses& footprint, double noise, const FittingFootprintParameters& parameters) {
  const double loads = footprint.loads;
  const double spread = parameters.spread_deviations * std::sqrt((noise + 1 / loads) / loads);
  return footprint.misses > noise + std::min(spread + parameters.misses / loads, parameters.tolerance);
}

std::uint64_t exceeding_footprint(std::span<const std::uint64_t> survey_bytes, std::uint64_t fits_bytes,
                                  std::uint64_t stride_bytes) {
  const auto beyond = std::ranges::upper_bound(survey_bytes, fits_bytes);
  if (survey_bytes.end() - beyond < 2) return fits_bytes / stride_bytes * stride_bytes * 2;
  return (*std::next(beyond) + stride_bytes - 1) / stride_bytes * stride_bytes;
}

FittingSearch::FittingSearch(std::uint64_t fits_bytes, std::uint64_t exceeds_bytes, std::uint64_t stride_bytes,
                             double noise, const FittingFootprintParameters& parameters)
    : parameters_(parameters),
      fits_(fits_bytes / stride_bytes * stride_bytes),
      exceeds_(exceeds_bytes),
      stride_(stride_bytes),
      noise_(noise) {}

std::vector<std::uint64_t> FittingSearch::next_footprints() const {
  std::vector<std::uint64_t> footprints;
  if (ended_ || exceeds_ <= fits_ + stride_) return footprints;
  const std::uint64_t step = std::max((exceeds_ - fits_) / (parameters_.points + 1) / stride_ * stride_, stride_);
  for (std::uint64_t bytes = fits_ + step; bytes < exceeds_; bytes += step) footprints.push_back(bytes);
  return footprints;
}

void FittingSearch::add(std::span<const FootprintMisses> footprints) {
  const auto missing = std::ranges::find_if(footprints, [&](const FootprintMisses& footprint) {
    return misses_beyond_noise(footprint, noise_, parameters_);
  });
  const std::uint64_t fits = missing == footprints.begin() ? fits_ : std::prev(missing)->bytes;
  const std::uint64_t exceeds = missing == footprints.end() ? exceeds_ : missing->bytes;
  ended_ = fits == fits_ && exceeds == exceeds_;
  fits_ = fits;
  exceeds_ = exceeds;
}

SizeView FittingSearch::found() const {
  const auto fits = static_cast<double>(fits_);
  const double slack = std::max(2 * parameters_.tolerance * fits, static_cast<double>(stride_));
  return {fits, {fits - slack, static_cast<double>(exceeds_)}};
}

}  // namespace gputopo::probe
