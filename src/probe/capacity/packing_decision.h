// The pure parts of packing (packing.h): whether what was walked again and again fits, from how many of its loads
// looked like misses; and which groups of places to try next.
//
// What fools it: a neighbour that evicts during every copy of a program; outliers as slow as the next level that come
// and go, for how often loads that hit look like misses is learnt beforehand.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <vector>

namespace gputopo::probe {

struct PackingParameters {
  // Misses a pass from which on something does not fit: what does not misses at least once a pass. Smaller takes noise
  // for a miss.
  double max_misses = 0.4;
  // Loads of an array that fits whose outliers are counted: thousands of loads are to miss less than once, so how many
  // look like it although they hit must be known well.
  std::uint64_t hit_loads = 100'000;
  // Left out at either end of the copies' counts: a neighbour may disturb a copy.
  double trim = 0.25;
  // Passes that are counted. The least averages over what a single pass finds by chance; the most bounds the time.
  double min_passes = 6;
  double max_passes = 64;
  // Errors of a median of copies that stay clear of the decision, and what that error is of one copy's: 0.56 with five.
  double passes_errors = 4;
  double median_error = 0.56;
  // Errors of one copy above the decision, and at least as much again, are many misses: that does not fit, unless a
  // second look finds less. Smaller trusts single copies more.
  double many_errors = 5;
  int looks = 2;
  // How well the part of false misses must be known: their error over the elements of a walk, as a part of the
  // decision. What is worse is learnt again until it is as good as wanted, with no more than so many times the copies:
  // one after another where programs run alone.
  double max_error = 0.25;
  double wanted_error = 0.1;
  double max_times = 200;
  double max_times_alone = 20;
  // Places up to which a cache is packed place by place. More: exact sizes of larger caches; the time grows with the
  // square.
  double max_places = 400;
  // Places that a nearer cache may serve of what was packed: from so many on it may have kept what this one lost.
  double nearer_places = 0.5;
  // Array of the places, in capacities: sets of two ways then find room for each but one in some hundreds.
  double capacities = 6;
  // Groups that are tried at once. More: fewer rounds; but what fits together is taken in turn.
  std::size_t groups_at_once = 12;
  // The first groups, as a part of what is taken without looking at each.
  std::size_t first_groups = 8;
  // It ends when so many places more than the patience asks for have been refused in a row: small caches would else
  // end at once.
  double min_refused = 8;
};

// How many loads look like misses although they hit.
struct FalseMisses {
  double per_load = 0;
  double error = 0;  // standard error of it
};
// From the counts of several copies of so many loads each.
[[nodiscard]] FalseMisses false_misses_of(std::span<const double> counts, double loads,
                                          const PackingParameters& parameters = {});

// Enough passes over so many elements for the noise of a median of five copies to stay clear of the decision.
[[nodiscard]] double passes_over(double elements, const FalseMisses& false_misses,
                                 const PackingParameters& parameters = {});
// Standard error of one copy's misses a pass over so many elements.
[[nodiscard]] double error_of_misses(double elements, const FalseMisses& false_misses,
                                     const PackingParameters& parameters = {});
// How many times the copies it takes to know the false misses of so many elements well enough; 1 if they are known.
[[nodiscard]] double times_to_learn(double elements, const FalseMisses& false_misses, bool alone,
                                    const PackingParameters& parameters = {});
// Misses a pass, beyond what looks like misses, from the counts of the copies of a walk of so many loads.
[[nodiscard]] double misses_a_pass(std::span<const double> counts, double loads, double elements,
                                   const FalseMisses& false_misses);
// Whether one copy tells that it does not fit.
[[nodiscard]] bool misses_many(double misses_a_pass, double error, const PackingParameters& parameters = {});

// A group of places by their numbers.
using PackingGroup = std::vector<std::uint32_t>;

// Whether what is taken and each of the groups are resident together.
using PackingTrial =
    std::function<std::vector<bool>(const std::vector<PackingGroup>& groups, const PackingGroup& taken)>;

// Adds group after group of the places, in their order, and keeps those that fit.
class PackingSearch {
 public:
  // `first` of the places, if that many fit, are taken without looking at each. It ends when `patience` times what was
  // taken have been refused in a row, or no place is left.
  PackingSearch(std::size_t places, std::size_t first, double patience, PackingTrial fit,
                const PackingParameters& parameters = {});

  // The places that are resident together, in their order of trial.
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
  std::deque<PackingGroup> waiting_;  // halved until they fit or are one place that does not
};

}  // namespace gputopo::probe
