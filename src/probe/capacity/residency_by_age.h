// Residency in a cache behind another after a pass over an array, by the age of the elements (how long ago they were
// loaded). What the nearer cache still holds tells nothing about this one. Pure functions of samples.
//
// What fools it: a nearer cache that holds nearly all elements of the youngest ages. Their residency is then
// extrapolated by a parabola, and the interval covers its curvature.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "stats/descriptive.h"

namespace gputopo::probe {

struct ResidencyByAgeParameters {
  // Bins per size of the nearer cache, so that some ages count although it holds all of others; and samples that a
  // bin needs for a proportion. More bins follow a faster change, with more noise each.
  std::uint64_t bins_of_nearer = 4;
  std::uint64_t samples_of_bin = 30;
  // An age counts if at least this fraction of its samples passes the nearer cache. Otherwise outliers among the hits
  // there may be most of what it seems to lack.
  double min_past_nearer = 0.2;
  // Factor by which an element's age must exceed the held part to be old: beyond the noise of the held part.
  double clearly_older = 1.2;
};

// Collects samples of all ages and estimates the residency of the array.
class ResidencyByAge {
 public:
  // Age of an element, from 0 to 1: the fraction of the pass's loads that came after its own.
  explicit ResidencyByAge(std::size_t bins, const ResidencyByAgeParameters& parameters = {})
      : parameters_(parameters), bins_(bins) {}

  // Bins that are useful for this many samples of an array behind a nearer cache.
  [[nodiscard]] static std::size_t useful_bins(std::uint64_t samples, std::uint64_t array_bytes,
                                               std::uint64_t nearer_bytes,
                                               const ResidencyByAgeParameters& parameters = {});

  // Adds a sample: whether the nearer cache served it and, if not, whether this one did.
  void add(double age, bool nearer_hit, bool hit);

  struct Part {
    double value = 0;  // fraction of the array that the cache holds
    stats::Interval interval;
  };
  // Resident fraction of the array. At each age, elements that the nearer cache lacks stand for all, because hits
  // there never ask this cache. For ages so young that the nearer cache has nearly all: the last element loaded is
  // resident, and residency falls from there. Nothing if the nearer cache has nearly all elements.
  [[nodiscard]] std::optional<Part> part() const;

  // Fraction still resident of what is clearly older than `held` (a fraction of the array); none if the oldest goes.
  [[nodiscard]] double old_part(double held) const;

 private:
  struct Bin {
    std::uint64_t nearer = 0;
    std::uint64_t hits = 0;
    std::uint64_t misses = 0;
    double ages = 0;  // sum over hits and misses

    [[nodiscard]] double told() const { return static_cast<double>(hits + misses); }
    [[nodiscard]] double resident() const { return static_cast<double>(hits) / std::max(1.0, told()); }
    [[nodiscard]] double age() const { return ages / std::max(1.0, told()); }
    [[nodiscard]] double variance() const { return resident() * (1 - resident()) / std::max(1.0, told()); }
  };
  // The youngest elements, of which the nearer cache has nearly all.
  struct Young {
    double resident = 0;
    double systematic = 0;
    double variance = 0;
  };

  [[nodiscard]] bool tells(const Bin& bin) const;
  [[nodiscard]] double bin_count() const { return static_cast<double>(bins_.size()); }
  [[nodiscard]] Bin sum(std::size_t begin, std::size_t end) const;
  [[nodiscard]] Young young(std::size_t bins) const;

  ResidencyByAgeParameters parameters_;
  std::vector<Bin> bins_;
};

}  // namespace gputopo::probe
