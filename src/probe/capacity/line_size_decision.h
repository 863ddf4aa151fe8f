// Whether elements at some distance lie in one line: from the bytes of halves that are resident together, or from the
// misses of sparse footprints. Pure functions; line_size.cpp takes the samples.
//
// What fools it: a hashed index with few ways, where a sparse footprint that should fit overflows some sets; other
// footprints then decide. A cache that also fetches the neighbor of a missed line seems to have lines of both.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "stats/descriptive.h"

namespace gputopo::probe {

struct LineSizeParameters {
  // Smallest difference in miss ratio between a fitting footprint and twice that, for anything to lie between them.
  double min_contrast = 0.10;
  // Above this difference, no other pair of footprints is tried.
  double clear_contrast = 0.4;
  // Fitting footprints of the pairs, in order, as fractions of the bytes seen resident. The first is near the
  // capacity, so twice as much clearly exceeds it, but clear of the ramp before it. Smaller ones follow if it tells
  // little.
  double reference_parts[3] = {0.9, 0.7, 0.5};
  // Distance of an answer from the midpoint (LineReference::place_of()) from which on no other footprint is tried.
  double sure_place = 0.4;
  // For a cache behind another, answers closer to the midpoint are inconclusive, because the nearer cache keeps more
  // of few loads. Smaller values tell more lines, some of them wrong.
  double least_place = 0.15;
  // Halves of blocks hold all bytes of the cache if a half is one or several lines, and half of them if it is half a
  // line. The threshold between the two, as a fraction of the way on a logarithmic scale.
  double packed_middle = 0.53;
  // Smallest fraction of what lines would hold that counts as all of it, if a nearer cache may have kept some.
  double packed_near = 0.9;
  // Smallest ratio of what lines would hold to what halves of lines would hold, for anything to lie between: if the
  // space has a limit, all halves may fit.
  double packed_contrast = 1.25;
  // Loads counted in a footprint of a cache that SMs share, where a single thread is slow: one per this many
  // elements, and at least `min_loads`.
  std::uint64_t elements_of_load = 8;
  std::uint64_t min_loads = 16;
  // A sparse footprint passes the nearer cache if it has more than this many times the elements that this one holds.
  std::uint64_t past_nearer = 4;
  // Array of the halves, in capacities: half of it is left out, and there must be room for refusals.
  double packed_capacities = 8;
};

// Whether halves of blocks are lines of their own, if `bytes` of them are resident together in a cache of
// `all_bytes`. The low end of `bytes` excludes what a nearer cache may have kept. `possible_bytes`: all halves that
// there is room for. Nothing if both answers would look alike.
[[nodiscard]] std::optional<bool> are_halves_separate_lines(const stats::Interval& bytes, double all_bytes,
                                                            double possible_bytes,
                                                            const LineSizeParameters& parameters = {});

// Miss ratios of a footprint with every line touched, and of half of it.
struct LineReference {
  std::uint64_t bytes = 0;
  double fitting = 0;    // miss ratio of the half
  double exceeding = 1;  // miss ratio of the whole

  [[nodiscard]] double contrast() const { return exceeding - fitting; }
  // Position of `ratio` between the two: -1 fits, 0 is the midpoint, 1 exceeds.
  [[nodiscard]] double place_of(double ratio) const { return (2 * ratio - fitting - exceeding) / contrast(); }
};

// Pairs of footprints to compare with. The clearest stays in front; on uneven sets it is not the largest that fits.
class LineReferences {
 public:
  // `held_bytes`: what the cache was seen to hold. `limit_bytes`: largest possible footprint; 0: no limit.
  LineReferences(double held_bytes, std::uint64_t fetch_bytes, std::uint64_t limit_bytes,
                 const LineSizeParameters& parameters = {});

  // Smaller footprint of the next pair; advances. Nothing if there is no other pair.
  [[nodiscard]] std::optional<std::uint64_t> next_base();
  void add(const LineReference& reference);

  [[nodiscard]] std::size_t size() const { return references_.size(); }
  [[nodiscard]] const LineReference& at(std::size_t index) const { return references_.at(index); }
  [[nodiscard]] double best_contrast() const { return references_.empty() ? 0 : references_.front().contrast(); }
  [[nodiscard]] bool is_clear() const { return best_contrast() > parameters_.clear_contrast; }
  [[nodiscard]] bool tells() const { return best_contrast() >= parameters_.min_contrast; }
  [[nodiscard]] bool tells(std::size_t index) const { return at(index).contrast() >= parameters_.min_contrast; }

 private:
  LineSizeParameters parameters_;
  double held_bytes_ = 0;
  std::uint64_t fetch_bytes_ = 0;
  std::uint64_t limit_bytes_ = 0;
  std::size_t next_part_ = 0;
  std::vector<LineReference> references_;
};

// Whether touching once per stride fills the cache as touching everything does. Keeps the surest of the answers at
// several footprints, because in a hashed cache of few ways one may lie near the midpoint.
class SparseAnswer {
 public:
  explicit SparseAnswer(const LineSizeParameters& parameters = {}) : parameters_(parameters) {}

  void add(const LineReference& reference, double miss_ratio);
  [[nodiscard]] bool is_sure() const;
  // Too close to the midpoint to tell.
  [[nodiscard]] bool is_between() const { return std::abs(place_) < parameters_.least_place; }
  // A line is at least as long as the stride.
  [[nodiscard]] bool fills() const { return place_ >= 0; }

 private:
  LineSizeParameters parameters_;
  double place_ = 0;
};

}  // namespace gputopo::probe
