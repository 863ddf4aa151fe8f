// Packing: finds the largest set of places that a cache holds at once. Adds place after place and keeps those with
// which everything still hits. Whatever the index and the policy, lines stay resident together only if no set of the
// cache has more of them than ways, so a set of places that cannot grow fills the cache exactly. Each place that does
// not fit costs a test, so packing suits caches of few lines. packing_decision.h says what fools it.
#pragma once

#include <cstdint>
#include <vector>

#include "probe/capacity/packing_decision.h"
#include "probe/survey/site.h"

namespace gputopo::probe {

// Places that are resident together, and how many elements of them only a nearer cache may hold.
struct Packed {
  PackingGroup places;  // in order of trial
  double nearer_elements = 0;
};

// A place: elements of an array (one nearest fetch each) that are loaded or left out together.
using PackingPlace = std::vector<std::uint32_t>;

// Whether sets of places are resident together: walked repeatedly, these miss no more often than a tiny array.
class FitTest {
 public:
  FitTest(ProbeRunner& runner, const Cache& cache, ChaseArray array, const std::vector<PackingPlace>& places);

  using Group = PackingGroup;
  // Whether `taken` and each of the groups fit together.
  [[nodiscard]] std::vector<bool> fit(const std::vector<Group>& groups, const Group& taken = {});
  // Misses per pass beyond those that look like misses in an array that fits; median of the copies. A group that does
  // not fit misses at least once per pass; kDecision lies in between.
  [[nodiscard]] std::vector<double> misses_per_pass(const std::vector<Group>& groups, const Group& taken,
                                                    std::size_t copies);
  // Elements per pass that a nearer cache serves, so that this one may have lost them; median of the copies.
  [[nodiscard]] double nearer_per_pass(const Group& group, std::size_t copies);
  static constexpr double kDecision = PackingParameters{}.max_misses;
  // Measures the rate of false misses again if it is not known well enough for this many elements.
  void sharpen(double elements);
  // Standard error of one copy's misses per pass over this many elements.
  [[nodiscard]] double error(double elements) const;

 private:
  void learn_false_misses(std::size_t copies);
  // Loads as slow as the level behind the cache. Slower ones are outliers: a repeated walk evicts nothing from there.
  [[nodiscard]] double band_count(const stats::Histogram& histogram) const;
  [[nodiscard]] double elements_in(const Group& group) const;
  [[nodiscard]] ChaseProgram program_of(const Group& taken, const Group& group) const;

  ProbeRunner& runner_;
  const Cache& cache_;
  ChaseArray array_;
  const std::vector<PackingPlace>& places_;
  FalseMisses false_misses_;
};

// Refusals in a row that end packing, as a multiple of the places taken. If one set in a hundred of a two-way cache
// has room for one more line, twice its places miss such a set with a probability of e^-2. After 3 times, less than a
// place or two of hundreds is missing.
inline constexpr double kPackingPatience = 3;

// Places that are resident together, made of elements of `array`. PackingSearch explains `first` and `patience`.
[[nodiscard]] Packed pack(ProbeRunner& runner, const Cache& cache, const ChaseArray& array,
                          const std::vector<PackingPlace>& places, std::size_t first,
                          double patience = kPackingPatience);

// Bytes that a cache holds, packed in places of one line, or one fetch if the line is unknown. 0 if the cache is too
// large to pack, or if a nearer cache keeps some of what seems to fit.
[[nodiscard]] double packed_bytes(ProbeRunner& runner, const Cache& cache);

}  // namespace gputopo::probe
