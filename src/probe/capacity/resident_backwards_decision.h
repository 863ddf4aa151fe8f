// What a pass over a footprint leaves in a cache, read backwards: which part of the array must be read, how many of
// its elements missed, and whether a larger footprint would leave more. Where what is evicted is left to chance,
// nothing is read. Pure functions; resident_backwards.cpp reads.
//
// What fools it: replacement that is not in turn (what is read evicts what is not read yet), so it is a lower bound
// then; a neighbour that evicts, so that it reads a little less than before; a neighbour that evicts as much in each of
// two looks, but other lines, looks like chance.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "probe/capacity/size_view.h"

namespace gputopo::probe {

struct ResidentBackwardsParameters {
  // Places at which a long array is looked at, and loads of each. More: a narrower region to read; each load costs an
  // eviction's worth of disturbance.
  std::uint64_t places = 128;
  std::uint64_t loads_of_place = 32;
  // Outliers that a place may have and still seem to hit always: one slow load, and half of one for rounding.
  double outliers_of_place = 1.5;
  // What is read beyond the first and the last mixed place: each speaks for what follows it up to the next one. And of
  // the way from the first mixed place to the last with more hits than misses, this part; of the last mixed one, that.
  std::uint64_t margin_places = 3;
  double mixed_margin = 1.5;
  double last_margin = 0.25;
  // Where sets of few ways fill unevenly single misses begin at an eighth of the way to the first mixed place; the part
  // of the way that is read too, and where that takes too long.
  double rare_part = 7.0 / 8;
  double short_rare_part = 1.0 / 3;
  // Behind another cache, the end of the pass that is walked again, in sizes of that one, and how often: what the
  // nearer cache then holds is held here too, so that its own leftovers are not counted.
  std::uint64_t nearer_caches = 4;
  std::uint64_t nearer_times = 3;
  // Footprints, in capacities: the first. Each is twice the one before.
  double first_capacities = 2;
  // Where the space allows fewer capacities than these, and so no sample, its largest footprint is read after all: what
  // that leaves is to be what fits, too.
  double few_capacities = 1.5;
  // Less than before by no more than this part is a neighbour's doing: the footprint is read again, so often. Larger
  // reads again what is really less.
  double disturbed_part = 0.01;
  int max_again = 2;
  // A place is mixed where more than this part of its loads hit, and as much misses. Smaller: outliers make it so.
  double mixed_part = 0.1;
  // Of all places, the part that is mixed where reading them would tell little. Smaller: more is looked at twice.
  double scattered_part = 0.5;
  // The squared differences of two looks at mixed places are 1 times those of loads that hit by chance, and more where
  // neighbours are evicted together, or 0 where the same is resident: from here on it is chance. Smaller: outliers look
  // like it.
  double chance_part = 0.5;
  // And a look that hits more in all by this part of its loads was disturbed less, which is no chance. Smaller: chance
  // itself.
  double alike_looks = 0.1;
};

// Elements [begin, end) of an array, in the order of the reading.
struct Region {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

// Where a backward reading turns from hits to misses, from the part of hits at places evenly over the array.
// `rare_part`: of the way to the first place with misses, the part that is read too, for misses too rare to be seen in
// a place.
[[nodiscard]] Region turning_region(std::span<const double> hits_at_places, std::uint64_t elements, double rare_part,
                                    const ResidentBackwardsParameters& parameters = {});

// Whether what is resident is not in one piece of the array, as under another replacement than in turn.
[[nodiscard]] bool is_scattered(std::span<const double> hits_at_places,
                                const ResidentBackwardsParameters& parameters = {});
// Whether two looks at the same places after the same pass found other lines resident: then what is evicted is chosen
// at random, and a reading, which evicts at random too, tells less than a sample.
[[nodiscard]] bool is_left_to_chance(std::span<const double> hits_at_places, std::span<const double> hits_again,
                                     const ResidentBackwardsParameters& parameters = {});

// Positions that miss, from the latencies of each copy. A load that hits may look slow (an outlier); one that misses
// never looks fast; so the majority is exact where the copies agree on what is resident. Where a neighbour evicts in
// most of them, only what all miss surely does.
struct Missed {
  std::uint64_t by_most = 0;
  std::uint64_t by_all = 0;
};
[[nodiscard]] Missed count_missed(std::span<const std::span<const std::uint32_t>> copies, double hit_limit_cycles);

// Of a footprint, the bytes that are resident in most copies, and in any; 0 where it was not read.
struct ResidentInCopies {
  double bytes = 0;
  double most_bytes = 0;
  bool by_chance = false;  // not read, because what is resident is left to chance
};

// Doubles the footprint until what stays resident no longer grows: until every set is full.
class ResidentSearch {
 public:
  // Footprints of so many guesses at most. `limit_bytes`: the largest that is possible; 0: none.
  ResidentSearch(double guess_bytes, double most_guesses, std::uint64_t limit_bytes,
                 const ResidentBackwardsParameters& parameters = {});

  // To read next, and to be added in their order: of the first two, which are read in any case, both. May be the same
  // again. Nothing at the end.
  [[nodiscard]] std::vector<double> next_footprints() const;
  // What was resident after it.
  void add(const ResidentInCopies& resident);
  // What was found with elements of so many bytes.
  [[nodiscard]] SizeView found(double line_bytes) const;

 private:
  // Copies that differ by more than a neighbour does differ because what is evicted is left to chance.
  [[nodiscard]] bool do_copies_differ() const;

  ResidentBackwardsParameters parameters_;
  double limit_ = 0;
  double footprint_ = 0;
  double resident_ = 0;  // of this footprint
  int again_ = 0;
  double first_ = 0;  // of the first footprint that was read
  double first_footprint_ = 0;
  double last_footprint_ = 0;
  double best_ = 0;
  double most_ = 0;  // in any copy, of any footprint
  double growth_ = 0;
  bool settled_ = false;
  bool by_chance_ = false;
  bool ended_ = false;
};

}  // namespace gputopo::probe
