// Pure parts of packing (packing.h): whether repeatedly walked places fit, from the number of loads that look like
// misses, and which groups of places to try next.
//
// What fools it: a neighbor that evicts during every copy of a program; intermittent outliers as slow as the next
// level, because the rate of false misses is measured beforehand.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <vector>

namespace gputopo::probe {

struct PackingParameters {
  // Threshold in misses per pass; what does not fit misses at least once. Smaller values take noise for misses.
  double max_misses = 0.4;
  // Loads of a fitting array whose outliers are counted. Thousands of loads must miss less than once, so the fraction
  // of hits that look like misses must be known well.
  std::uint64_t hit_loads = 100'000;
  // Fraction of the copies' counts to leave out at either end: a neighbor may disturb a copy.
  double trim = 0.25;
  // Counted passes. The minimum averages over what a single pass finds by chance; the maximum bounds the time.
  double min_passes = 6;
  double max_passes = 64;
  // Standard errors between the copies' median and the threshold; the median's error over one copy's (five copies).
  double passes_errors = 4;
  double median_error = 0.56;
  // A copy has many misses if it exceeds the threshold by this many standard errors, and by at least the threshold
  // again: the group does not fit, unless a second look finds less. Smaller values trust single copies more.
  double many_errors = 5;
  int looks = 2;
  // Required error of the false-miss rate over the elements of a walk, relative to the threshold. A rate worse than
  // `max_error` is measured again to `wanted_error`, with at most `max_times` the copies, fewer if programs run alone.
  double max_error = 0.25;
  double wanted_error = 0.1;
  double max_times = 200;
  double max_times_alone = 20;
  // Largest cache to pack, in places. Larger values give exact sizes of larger caches; time grows with the square.
  double max_places = 400;
  // Packed places that a nearer cache serves, from which on it may have kept what this cache lost.
  double nearer_places = 0.5;
  // Array of the places, in capacities. Sets of two ways then fill up, except for one in some hundreds.
  double capacities = 6;
  // Groups tried at once. Larger values need fewer rounds, but groups that fit only one by one are taken in turn.
  std::size_t groups_at_once = 12;
  // Divides the places that are taken without individual tests into the size of the first groups.
  std::size_t first_groups = 8;
  // Refusals in a row that must come on top of the patience; without them small caches would end at once.
  double min_refused = 8;
};

// Fraction of the hits that look like misses.
struct FalseMisses {
  double per_load = 0;
  double error = 0;  // its standard error
};
// From the counts of several copies of `loads` loads each.
[[nodiscard]] FalseMisses false_misses_of(std::span<const double> counts, double loads,
                                          const PackingParameters& parameters = {});

// Passes over `elements` that keep the noise of a median of five copies clear of the threshold.
[[nodiscard]] double passes_over(double elements, const FalseMisses& false_misses,
                                 const PackingParameters& parameters = {});
// Standard error of one copy's misses per pass over `elements`.
[[nodiscard]] double error_of_misses(double elements, const FalseMisses& false_misses,
                                     const PackingParameters& parameters = {});
// Multiple of the copies that makes the false misses of `elements` known well enough; 1 if they are known.
[[nodiscard]] double times_to_learn(double elements, const FalseMisses& false_misses, bool alone,
                                    const PackingParameters& parameters = {});
// Misses per pass without the false ones, from the counts of the copies of a walk of `loads` loads.
[[nodiscard]] double misses_a_pass(std::span<const double> counts, double loads, double elements,
                                   const FalseMisses& false_misses);
// Whether one copy shows that the group does not fit.
[[nodiscard]] bool misses_many(double misses_a_pass, double error, const PackingParameters& parameters = {});

// A group of places, by number.
using PackingGroup = std::vector<std::uint32_t>;

// Whether `taken` and each of the groups are resident together.
using PackingTrial =
    std::function<std::vector<bool>(const std::vector<PackingGroup>& groups, const PackingGroup& taken)>;

// Adds group after group of the places, in order, and keeps those that fit.
class PackingSearch {
 public:
  // Takes `first` places without individual tests if they fit. Ends after refusals of `patience` times the places
  // taken in a row, or when no place is left.
  PackingSearch(std::size_t places, std::size_t first, double patience, PackingTrial fit,
                const PackingParameters& parameters = {});

  // Places that are resident together, in order of trial.
  [[nodiscard]] PackingGroup run();

 private:
  void take(const PackingGroup& group);
  void take_first();
  void refill();
  [[nodiscard]] bool is_patient() const;
  [[nodiscard]] std::vector<PackingGroup> next_groups();
  void refuse(const PackingGroup& group);
  void take_together(const std::vector<PackingGroup>& good);

  std::size_t places_;
  std::size_t first_;
  double patience_;
  PackingTrial fit_;
  PackingParameters parameters_;
  PackingGroup taken_;
  std::size_t next_ = 0;
  std::size_t group_size_ = 1;
  std::size_t refused_in_a_row_ = 0;
  std::deque<PackingGroup> waiting_;  // halved until they fit or are a single place
};

}  // namespace gputopo::probe
