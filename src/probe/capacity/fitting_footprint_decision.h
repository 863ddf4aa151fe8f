// The largest footprint that fits a cache, between one that does and one that does not: both ends draw closer by the
// number of footprints that are tried at once. Pure functions; fitting_footprint.cpp walks the footprints.
//
// What fools it: an index that does not spread a contiguous array evenly, so that the first set overflows early; a
// neighbour's evictions, which make a footprint miss that fits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "probe/capacity/size_view.h"

namespace gputopo::probe {

struct FittingFootprintParameters {
  // Footprints that are tried at once. More: fewer rounds, of more programs each.
  std::uint64_t points = 24;
  // Least loads of a footprint: enough for one outlier not to look like a miss, however small the array.
  std::uint64_t min_loads = 4096;
  // A miss or two beyond the noise and so many deviations of its spread is a footprint that does not fit. Larger misses
  // the first few misses of a ramp; smaller takes outliers for them.
  double spread_deviations = 4;
  double misses = 1.5;
  // A footprint fits when at most this part of its loads misses beyond the noise, however many loads that are.
  double tolerance = 0.004;
};

struct FootprintMisses {
  std::uint64_t bytes = 0;
  double misses = 0;  // part of its loads
  double loads = 0;
};

// Whether it misses more often than loads that hit seem to, which is the `noise`.
[[nodiscard]] bool misses_beyond_noise(const FootprintMisses& footprint, double noise,
                                       const FittingFootprintParameters& parameters = {});

// The smallest footprint that certainly exceeds, by a survey whose footprints ascend: the second beyond what fits, for
// a neighbour may have spoilt the first one; twice what fits where there are not so many. In whole strides.
[[nodiscard]] std::uint64_t exceeding_footprint(std::span<const std::uint64_t> survey_bytes, std::uint64_t fits_bytes,
                                                std::uint64_t stride_bytes);

// Draws the two ends closer until they are one stride apart.
class FittingSearch {
 public:
  FittingSearch(std::uint64_t fits_bytes, std::uint64_t exceeds_bytes, std::uint64_t stride_bytes, double noise,
                const FittingFootprintParameters& parameters = {});

  // To walk next, ascending; none at the end.
  [[nodiscard]] std::vector<std::uint64_t> next_footprints() const;
  // What they missed, in the same order.
  void add(std::span<const FootprintMisses> footprints);
  [[nodiscard]] SizeView found() const;

 private:
  FittingFootprintParameters parameters_;
  std::uint64_t fits_ = 0;
  std::uint64_t exceeds_ = 0;
  std::uint64_t stride_ = 0;
  double noise_ = 0;
  bool ended_ = false;
};

}  // namespace gputopo::probe
