// Packing: the largest set of places that a cache holds all at once, found by adding place after place and keeping
// those with which everything still hits. Whatever the index and the replacement, a set of lines can stay resident only
// if no set of the cache has more of them than it has ways, so what cannot be enlarged any more fills the cache
// exactly. It takes a test for each place that does not fit, so it is for caches of few lines. What fools it is said
// where it is decided: packing_decision.h.
#pragma once

#include <cstdint>
#include <vector>

#include "probe/capacity/packing_decision.h"
#include "probe/survey/site.h"

namespace gputopo::probe {

// What is resident together, and how much of it may be so in a nearer cache only.
struct Packed {
  PackingGroup places;  // in their order of trial
  double nearer_elements = 0;
};

// A place: elements of an array (each of the cache's nearest fetch) that are loaded or left out together.
using PackingPlace = std::vector<std::uint32_t>;

// Whether sets of places are resident together: walked again and again, they then miss no more than a tiny array does.
class FitTest {
 public:
  FitTest(Lab& lab, const Cache& cache, ChaseArray array, const std::vector<PackingPlace>& places);

  using Group = PackingGroup;
  // Whether `taken` and each of the groups fit.
  [[nodiscard]] std::vector<bool> fit(const std::vector<Group>& groups, const Group& taken = {});
  // The median of some copies of the misses a pass, beyond what looks like misses in an array that fits. What does not
  // fit misses at least once a pass; kDecision is in between.
  [[nodiscard]] std::vector<double> misses_per_pass(const std::vector<Group>& groups, const Group& taken,
                                                    std::size_t copies);
  // The median of some copies of the elements that a nearer cache serves each pass: this one may have lost them.
  [[nodiscard]] double nearer_per_pass(const Group& group, std::size_t copies);
  static constexpr double kDecision = PackingParameters{}.max_misses;
  // Learns better how many loads look like misses, where that is not known well enough for so many elements.
  void sharpen(double elements);
  // Standard error of one copy's misses a pass over so many elements.
  [[nodiscard]] double error(double elements) const;

 private:
  void learn_false_misses(std::size_t copies);
  // Loads as slow as the level behind the cache answers. What is slower still is an outlier: nothing that is walked
  // again and again is evicted from there.
  [[nodiscard]] double band_count(const stats::Histogram& histogram) const;
  [[nodiscard]] double elements_in(const Group& group) const;
  [[nodiscard]] ChaseProgram program_of(const Group& taken, const Group& group) const;

  Lab& lab_;
  const Cache& cache_;
  ChaseArray array_;
  const std::vector<PackingPlace>& places_;
  FalseMisses false_misses_;
};

// A cache of two ways whose sets have, one in a hundred, room for one more: twice its places of refusals miss that with
// a probability of e^-2 for each such set. Beyond it what is missing is less than a place or two of hundreds.
inline constexpr double kPackingPatience = 3;

// The places that are resident together; `array` is what they are elements of. See PackingSearch for `first` and
// `patience`.
[[nodiscard]] Packed pack(Lab& lab, const Cache& cache, const ChaseArray& array,
                          const std::vector<PackingPlace>& places, std::size_t first,
                          double patience = kPackingPatience);

// Bytes that a cache holds, from places of one fetch each; 0 where it is too large for this, or a nearer cache keeps
// some of what seems to fit.
[[nodiscard]] double packed_bytes(Lab& lab, const Cache& cache);

}  // namespace gputopo::probe
