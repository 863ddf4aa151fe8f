// Of what a pass over an array leaves in a cache behind another, by how long ago its elements were loaded: what the
// nearer cache still holds tells nothing of this one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "stats/descriptive.h"

namespace gputopo::probe {

class ResidencyByAge {
 public:
  // Ages from 0 to 1: of the loads of the pass, the part that came after the element's.
  explicit ResidencyByAge(std::size_t bins) : bins_(bins) {}

  // A sample: whether the nearer cache served it and, if not, whether this one did.
  void add(double age, bool nearer_hit, bool hit);

  struct Part {
    double value = 0;  // of the array, that the cache holds
    stats::Interval interval;
  };
  // Of elements of one age as many are resident as of those among them that the nearer cache lacks, because what hits
  // there is not asked for here. Of elements so young that it has nearly all of them: the last one loaded is resident,
  // and from there on less and less are. Throws Inconclusive where the nearer cache has nearly all elements.
  [[nodiscard]] Part part() const;

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
    [[nodiscard]] bool tells() const;
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

  [[nodiscard]] double bin_count() const { return static_cast<double>(bins_.size()); }
  [[nodiscard]] Bin sum(std::size_t begin, std::size_t end) const;
  [[nodiscard]] Young young(std::size_t bins) const;

  std::vector<Bin> bins_;
};

}  // namespace gputopo::probe
