// Whether elements so far apart still lie in one line: from how many bytes of halves are resident together, or from
// what sparse footprints miss. Pure functions; line_size.cpp takes the samples.
//
// What fools it: a hashed index with few ways, where a sparse footprint that would fit overflows some sets: other
// footprints decide then. A cache that fetches a neighbour of what missed seems to have lines of both.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

#include "stats/descriptive.h"

namespace gputopo::probe {

struct LineSizeParameters {
  // Part of the loads that must differ between a footprint that fits and twice of it, for anything to lie between them.
  double min_contrast = 0.10;
  // From this difference on, no other pair of footprints is looked for.
  double clear_contrast = 0.4;
  // Parts of what the cache was seen to hold that make such a footprint, one after another: near the capacity, so that
  // twice of it exceeds clearly, and clear of the ramp before it; and smaller ones where that one tells little.
  double reference_parts[3] = {0.9, 0.7, 0.5};
  // How far from the middle between fitting and exceeding an answer must lie, as a part of the way, for no other
  // footprint to be asked.
  double sure_place = 0.4;
  // Nearer to the middle than this an answer about a cache behind another is none: that one keeps more of few loads.
  // Smaller: more lines are told, some of them wrong.
  double least_place = 0.15;
  // Of the bytes that the cache holds in all, what halves of blocks hold: all where a half is a line or several, half
  // where it is half a line. This is between them, as a part of the way in octaves.
  double packed_middle = 0.53;
  // Of what lines hold, the least that is taken for all of them where a nearer cache may have kept some of it.
  double packed_near = 0.9;
  // How many times what halves of lines would hold there must be of lines, for anything to lie between them: where the
  // space has a limit, all halves may fit.
  double packed_contrast = 1.25;
  // Loads that are counted of a footprint that SMs share, where one thread takes its time: one of so many elements, and
  // no less than so many.
  std::uint64_t elements_of_load = 8;
  std::uint64_t min_loads = 16;
  // A sparse footprint with more elements than so many times what the nearer cache holds of them gets past it.
  std::uint64_t past_nearer = 4;
  // Array of the halves, in capacities: half of it is left out, and there must be room for refusals.
  double packed_capacities = 8;
};

// Whether halves of blocks that hold `bytes` together, of a cache that holds `all_bytes`, are lines of their own. The
// least of `bytes` is without what a nearer cache may have kept. `possible_bytes`: what all halves are that there is
// room for. Nothing where it would look alike.
[[nodiscard]] std::optional<bool> are_halves_lines(const stats::Interval& bytes, double all_bytes,
                                                   double possible_bytes, const LineSizeParameters& parameters = {});

// What a footprint misses with every line touched, beside what half of it does.
struct LineReference {
  std::uint64_t bytes = 0;
  double fitting = 0;    // part of the loads of the half that miss
  double exceeding = 1;  // and of those of the whole

  [[nodiscard]] double contrast() const { return exceeding - fitting; }
  // Where `ratio` lies between the two, from -1 (fits) over 0 (either) to 1 (exceeds).
  [[nodiscard]] double place_of(double ratio) const { return (2 * ratio - fitting - exceeding) / contrast(); }
};

// The pairs of footprints to compare with; the one with the clearest difference stays in front: on a cache with uneven
// sets that is not the largest that fits.
class LineReferences {
 public:
  // Of a cache that was seen to hold so much; `limit_bytes`: the largest footprint that is possible; 0: none.
  LineReferences(double held_bytes, std::uint64_t fetch_bytes, std::uint64_t limit_bytes,
                 const LineSizeParameters& parameters = {});

  // The smaller footprint of the next pair; moves on. Nothing where there is no other.
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

// Whether touching once per stride fills the cache as touching all does: the surest of the answers at several
// footprints, for in a hashed cache of few ways one may lie in the middle.
class SparseAnswer {
 public:
  explicit SparseAnswer(const LineSizeParameters& parameters = {}) : parameters_(parameters) {}

  void add(const LineReference& reference, double miss_ratio);
  [[nodiscard]] bool is_sure() const;
  // Too near to the middle to tell.
  [[nodiscard]] bool is_between() const { return std::abs(place_) < parameters_.least_place; }
  // A line is at least as long as the stride.
  [[nodiscard]] bool fills() const { return place_ >= 0; }

 private:
  LineSizeParameters parameters_;
  double place_ = 0;
};

}  // namespace gputopo::probe
