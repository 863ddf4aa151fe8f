// Largest footprint that fits a cache, between one that fits and one that does not. Each round tries several
// footprints and narrows this interval. Pure functions; fitting_footprint.cpp walks the footprints.
//
// What fools it: an uneven index, where one set overflows early; a neighbor's evictions, which look like misses.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "probe/capacity/size_view.h"

namespace gputopo::probe {

struct FittingFootprintParameters {
  // Footprints tried at once. Larger values need fewer rounds, with more programs each.
  std::uint64_t points = 24;
  // Fewest loads of a footprint: enough that one outlier does not look like a miss, however small the array is.
  std::uint64_t min_loads = 4096;
  // A footprint does not fit if its misses exceed the noise by this many standard deviations and `misses` more.
  // Larger values overlook the first misses of a ramp; smaller values take outliers for misses.
  double spread_deviations = 4;
  double misses = 1.5;
  // Upper limit of that excess, as a fraction of the loads.
  double tolerance = 0.004;
};

struct FootprintMisses {
  std::uint64_t bytes = 0;
  double misses = 0;  // fraction of its loads
  double loads = 0;
};

// Whether it misses more often than `noise`, the fraction of hits that look like misses, explains.
[[nodiscard]] bool misses_beyond_noise(const FootprintMisses& footprint, double noise,
                                       const FittingFootprintParameters& parameters = {});

// Smallest survey footprint (ascending) that certainly exceeds the cache: the second beyond what fits, because a
// neighbor may have spoilt the first. Twice what fits if there are fewer. In whole strides.
[[nodiscard]] std::uint64_t exceeding_footprint(std::span<const std::uint64_t> survey_bytes, std::uint64_t fits_bytes,
                                                std::uint64_t stride_bytes);

// Narrows the interval until its ends are one stride apart.
class FittingSearch {
 public:
  FittingSearch(std::uint64_t fits_bytes, std::uint64_t exceeds_bytes, std::uint64_t stride_bytes, double noise,
                const FittingFootprintParameters& parameters = {});

  // Footprints to walk next, ascending; none at the end.
  [[nodiscard]] std::vector<std::uint64_t> next_footprints() const;
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
