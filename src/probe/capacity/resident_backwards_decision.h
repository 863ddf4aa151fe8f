// Reads backwards what a pass over a footprint leaves in a cache: which region of the array to read, how many elements
// missed, and whether a larger footprint would leave more. Nothing is read if eviction is random. Pure functions;
// resident_backwards.cpp reads.
//
// What fools it: policies that do not evict the oldest line, because reading then evicts unread lines (the result is a
// lower bound); a neighbor that evicts, so that a reading is a little lower than the one before; a neighbor that
// evicts as much in each of two looks, but other lines, which looks like random eviction.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "probe/capacity/size_view.h"

namespace gputopo::probe {

struct ResidentBackwardsParameters {
  // Places at which a long array is probed, and loads at each. Larger values narrow the region to read; each load
  // disturbs as much as one eviction.
  std::uint64_t places = 128;
  std::uint64_t loads_of_place = 32;
  // Outliers that a place may have and still seem to hit always: one slow load, and half of one for rounding.
  double outliers_of_place = 1.5;
  // Places read on both sides of the mixed ones, as each stands for those up to the next. If more: `mixed_margin` of
  // the way from the first mixed place to the last with most hits; `last_margin` of the way to the last mixed one.
  std::uint64_t margin_places = 3;
  double mixed_margin = 1.5;
  double last_margin = 0.25;
  // If sets of few ways fill unevenly, single misses begin at an eighth of the way to the first mixed place. Fraction
  // of that way that is read too, and the same if that takes too long.
  double rare_part = 7.0 / 8;
  double short_rare_part = 1.0 / 3;
  // Behind another cache: end of the pass that is walked again, in sizes of that cache, and how often. Then this
  // cache holds what the nearer one holds, so that leftovers of the nearer one are not counted.
  std::uint64_t nearer_caches = 4;
  std::uint64_t nearer_times = 3;
  // First footprint, in capacities. Each next one is twice as large.
  double first_capacities = 2;
  // If the space allows fewer capacities than this, and so no sample, its largest footprint is read anyway: what that
  // leaves must also be what fits.
  double few_capacities = 1.5;
  // A reading that is lower than the one before by at most this fraction is a neighbor's doing and is repeated, up to
  // `max_again` times. Larger values repeat readings that are really lower.
  double disturbed_part = 0.01;
  int max_again = 2;
  // A place is mixed if more than this fraction of its loads hit and as many miss. Smaller values include outliers.
  double mixed_part = 0.1;
  // Fraction of mixed places above which reading them would tell little. Smaller values cause more second looks.
  double scattered_part = 0.5;
  // Squared differences of two looks at mixed places over those of random hits: 1 under random eviction (more if
  // neighbors are evicted together), 0 if the same lines are resident. Threshold; smaller values admit outliers.
  double chance_part = 0.5;
  // A look with more hits in total by this fraction of its loads was less disturbed, not random. Smaller values
  // exclude random eviction itself.
  double alike_looks = 0.1;
};

// Elements [begin, end) of an array, in reading order.
struct Region {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

// Region in which a backward reading turns from hits to misses, from the hit ratios at places spread evenly over the
// array. `rare_part`: part of the way to the first place with misses to read too, for misses too rare to show.
[[nodiscard]] Region turning_region(std::span<const double> hits_at_places, std::uint64_t elements, double rare_part,
                                    const ResidentBackwardsParameters& parameters = {});

// Whether the resident part is not one piece of the array, as under policies that do not evict the oldest.
[[nodiscard]] bool is_scattered(std::span<const double> hits_at_places,
                                const ResidentBackwardsParameters& parameters = {});
// Whether two looks at the same places after the same pass found different lines resident. Then eviction is random,
// and a reading, which evicts at random too, tells less than a sample.
[[nodiscard]] bool has_random_eviction(std::span<const double> hits_at_places, std::span<const double> hits_again,
                                       const ResidentBackwardsParameters& parameters = {});

// Positions that miss, from the latencies of each copy. A hit may look slow (an outlier), but a miss never looks
// fast, so the majority is exact if the copies agree on what is resident. If a neighbor evicts in most copies, only
// positions that miss in all of them are certain.
struct Missed {
  std::uint64_t by_most = 0;
  std::uint64_t by_all = 0;
};
[[nodiscard]] Missed count_missed(std::span<const std::span<const std::uint32_t>> copies, double hit_limit_cycles);

// Bytes of a footprint that are resident in most copies, and in any; 0 if it was not read.
struct ResidentInCopies {
  double bytes = 0;
  double most_bytes = 0;
  bool by_chance = false;  // not read, because eviction is random
};

// Doubles the footprint until the resident part no longer grows, when every set is full.
class ResidentSearch {
 public:
  // Footprints reach `most_guesses` times the guess. `limit_bytes`: largest possible footprint; 0: no limit.
  ResidentSearch(double guess_bytes, double most_guesses, std::uint64_t limit_bytes,
                 const ResidentBackwardsParameters& parameters = {});

  // Footprints to read next; add() takes their results in order. Returns both of the first two, which are always
  // read. May repeat the last one. Empty at the end.
  [[nodiscard]] std::vector<double> next_footprints() const;
  void add(const ResidentInCopies& resident);
  [[nodiscard]] SizeView found(double line_bytes) const;

 private:
  // Copies that differ by more than a neighbor causes differ because eviction is random.
  [[nodiscard]] bool do_copies_differ() const;

  ResidentBackwardsParameters parameters_;
  double limit_ = 0;
  double footprint_ = 0;
  double resident_ = 0;  // with this footprint
  int again_ = 0;
  double first_ = 0;  // with the first footprint that was read
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
