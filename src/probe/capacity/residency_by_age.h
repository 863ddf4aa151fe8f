// Of what a pass over an array leaves in a cache behind another, by how long ago its elements were loaded: what the
// nearer cache still holds tells nothing of this one. A pure function of samples.
//
// What fools it: a nearer cache that holds nearly all elements of the youngest ages; what is resident of those is then
// a parabola's guess, and the interval says how far it bends.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "stats/descriptive.h"

namespace gputopo::probe {

struct ResidencyByAgeParameters {
  // Bins of the array that the nearer cache's size is, so that some ages tell although others are its alone; and
  // samples that a bin needs for a proportion. More bins follow a faster change, with more noise each.
  std::uint64_t bins_of_nearer = 4;
  std::uint64_t samples_of_bin = 30;
  // An age tells where at least this part of its samples is past the nearer cache: else outliers among what that holds
  // may be most of what it seems to lack.
  double min_past_nearer = 0.2;
  // What was loaded longer ago than what is held by this factor is old: past the noise of what is held.
  double clearly_older = 1.2;
};

// Collects samples of all ages, and says what they tell of the array.
class ResidencyByAge {
 public:
  // Ages from 0 to 1: of the loads of the pass, the part that came after the element's.
  explicit ResidencyByAge(std::size_t bins, const ResidencyByAgeParameters& parameters = {})
      : parameters_(parameters), bins_(bins) {}

  // Of so many samples of an array behind a cache.
  [[nodiscard]] static std::size_t useful_bins(std::uint64_t samples, std::uint64_t array_bytes,
                                               std::uint64_t nearer_bytes,
                                               const ResidencyByAgeParameters& parameters = {});

  // A sample: whether the nearer cache served it and, if not, whether this one did.
  void add(double age, bool nearer_hit, bool hit);

  struct Part {
    double value = 0;  // of the array, that the cache holds
    stats::Interval interval;
  };
  // Of elements of one age as many are resident as of those among them that the nearer cache lacks, because what hits
  // there is not asked for here. Of elements so young that it has nearly all of them: the last one loaded is resident,
  // and from there on less and less are. Nothing where the nearer cache has nearly all elements.
  [[nodiscard]] std::optional<Part> part() const;

  // Of what was loaded clearly longer ago than so large a part of the array, the part that is still resident: none
  // where the oldest is replaced.
  [[nodiscard]] double old_part(double held) const;

 private:
  struct Bin {
    std::uint64_t nearer = 0;
    std::uint64_t hits = 0;
    std::uint64_t misses = 0;
    double ages = 0;  // of hits and misses, the sum

    [[nodiscard]] double told() const { return static_cast<double>(hits + misses); }
    [[nodiscard]] double resident() const { return static_cast<double>(hits) / std::max(1.0, told()); }
    [[nodiscard]] double age() const { return ages / std::max(1.0, told()); }
    [[nodiscard]] double variance() const { return resident() * (1 - resident()) / std::max(1.0, told()); }
  };
  // Of the youngest elements, of which the nearer cache has nearly all.
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
