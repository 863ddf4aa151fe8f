// The size of a cache, decided from views that are each at most the capacity, so that the largest of them is the
// answer:
//
//   fits      The largest footprint whose loads all hit when it is walked again and again. Exact under any replacement
//             where the index spreads a contiguous array evenly; early where it does not.
//   resident  What a footprint several times the capacity leaves in the cache: it is walked once, and then backwards,
//             counting hits. Exact under LRU (and FIFO) whatever the index, because going backwards meets the resident
//             lines before any is evicted; low under other replacements.
//   packed    The largest set of lines that are resident together, wherever they lie. Exact under any replacement and
//             index, but it takes a test for each line that does not fit: for small caches (packing.h).
//   sampled   What a footprint several times the capacity leaves in the cache, of which a few random elements are timed
//             instead of all: unbiased under any replacement and index, and only as exact as a proportion is. Behind
//             another cache by how long ago they were loaded (residency_by_age.h).
//
// And where memory is as near as the far part of the cache, a view of its own: clear_memory_loads_decision.h. Views are
// asked for one after another, as what was seen so far demands: next_look() says which, decide_capacity() what they
// tell together. Pure functions: size.cpp does the looking.
//
// What fools them: a neighbour's loads during all copies of a program; a nearer cache of about the same size.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "probe/bench/conditions.h"
#include "probe/bench/decision.h"
#include "probe/capacity/clear_memory_loads_decision.h"
#include "probe/capacity/sampled_residency_decision.h"
#include "probe/capacity/size_view.h"

namespace gputopo::probe {

struct CapacityDecisionParameters {
  // Samples of a first look at the residency, where another view is exact, and of the full one, where none is or the
  // first look contradicts it. More: narrower intervals; time grows in proportion.
  std::uint64_t quick_samples = 12'000;
  std::uint64_t full_samples = 270'000;
  // And of a first look so many of each line of the cache are enough: no view is finer than a line. Fewer: lines are
  // missed by chance; more: caches of a few lines, of which a program samples a few only, take thousands of programs.
  double quick_samples_of_line = 60;
  // Footprint that is sampled, in capacities. More: every set is full even where they fill unevenly; fewer: more of the
  // samples hit.
  double sampled_capacities = 3;
  // The same of a cache that SMs share, which one thread reads back: as few as exceed it clearly.
  double shared_capacities = 2;
  // And where what stays resident still grew with the last footprint that was read back: a block touches all of L2 many
  // times faster than one thread reads it.
  double unsettled_capacities = 8;
  // And where what stays resident is left to chance, and so is not read back: sets of two ways are full then.
  double chance_capacities = 4;
  // A smaller footprint leaves too little out to tell anything; larger asks more of spaces with a limit.
  double min_capacities = 1.5;
  // Walks in order that hit no more than this part of their loads miss nearly all, as under LRU; more than that of what
  // was loaded long ago is still resident where the oldest is not what is replaced. Larger takes more for LRU.
  double still_hits = 0.02;
  // The footprint where nothing hits any more is the first with less than this part of hits: outliers of misses.
  double nothing_hits = 0.01;
  // Footprints that are read backwards, at most: so many capacities. More: sets that fill unevenly are all full.
  double resident_capacities = 32;
  // Whether lines are packed where no other view is exact. It takes a test for each line that does not fit.
  bool packs = true;
  // Packing has found more than the other views where it is above them by this factor: a line or two more of them is
  // one that seemed to fit.
  double packed_beyond = 1.01;
  // Standard errors that a sample must be above an exact view to ask for the full sample: one, for the quick look costs
  // little and so may not be trusted with more.
  double doubt_errors = 1;
  // ... to be the answer in place of an exact view: hundreds of sizes are measured, and none may be taken for a larger
  // one by chance.
  double clear_errors = 4.5;
  // ... in place of a view that is only a lower bound: it takes less to be above that.
  double likely_errors = 2;
  // Where what is read back grew with every footprint, a sample below this part of it contradicts it: loads that are
  // not of this cache looked like its hits. Smaller: such sizes are told; larger: misses of a TLB, which look like a
  // sample's misses, take sizes away.
  double contradicting_part = 0.6;
  // What SMs share behind another cache is read back with lines that this one kept, though the end was walked again:
  // this part. Larger: wider intervals.
  double kept_by_nearer = 1e-4;
  // Sets overflow alike where the first misses appear at this part of the capacity; and where the space allows so many
  // capacities, those that get the fewest lines are full too. Larger: more sizes are flagged.
  double alike_part = 0.97;
  double filling_capacities = 2;
};

struct Capacity {
  double bytes = 0;
  stats::Interval interval;
  std::string method;
  double resident_bytes = 0;    // read backwards
  double first_miss_bytes = 0;  // the largest footprint without misses; 0 for L2
  double all_miss_bytes = 0;    // the smallest footprint of the survey where nothing hits; 0 if there is none
  double sampled_bytes = 0;     // 0 if not sampled
  bool of_same_cache = false;   // it was measured through another space, and this one's views agree
  Conditions conditions;
};

// What is known of a cache, and what the views have found so far.
struct CapacityEvidence {
  bool is_shared = false;        // by SMs: it is read by one thread alone
  bool is_behind = false;        // another cache is nearer
  bool has_far_part = false;     // it answers at several latencies
  double cold_hits = 0;          // part of loads from memory that look like hits
  double guess_bytes = 0;        // what the survey saw it hold
  double line_bytes = 0;         // what a load takes up, as far as is known
  double stride_bytes = 0;       // of the loads of every view
  double limit_bytes = 0;        // largest footprint that is possible; 0: no limit
  double misses_at_most = 1;     // part of the survey's loads that can miss
  std::uint64_t fits_bytes = 0;  // largest footprint of the survey that fits
  std::vector<FootprintHits> sweep;

  // Empty: not looked at.
  std::optional<MemoryLoads> memory;
  std::optional<SizeView> resident;
  std::optional<SizeView> fits;
  std::optional<double> packed_bytes;      // 0: it is too large to be packed
  std::vector<SampledResidency> sampled;   // look after look
  std::optional<std::string> not_sampled;  // why a sample tells nothing
};

enum class View : std::uint8_t { kMemoryLoads, kResident, kFits, kPacked, kSampled };

struct Look {
  View view = View::kResident;
  // kSampled: of a footprint of so many times so many bytes, so many samples.
  double capacities = 0;
  double base_bytes = 0;
  std::uint64_t samples = 0;
};

// What to look at next; nothing where all that can tell has been looked at.
[[nodiscard]] std::optional<Look> next_look(const CapacityEvidence& evidence,
                                            const CapacityDecisionParameters& parameters = {});

// The first footprint of a sweep of which nothing hits any more; 0: there is none.
[[nodiscard]] double all_miss_bytes(std::span<const FootprintHits> sweep,
                                    const CapacityDecisionParameters& parameters = {});

// What all looks together tell, once next_look() asks for no more. Without conditions.
[[nodiscard]] Decision<Capacity> decide_capacity(const CapacityEvidence& evidence,
                                                 const CapacityDecisionParameters& parameters = {});

// Whether sets of the cache may never have been full: arrays of the space, of at most so many bytes (0: no limit), are
// no twice as large, and some sets overflow long before others.
[[nodiscard]] bool may_leave_sets_unfilled(const Capacity& capacity, std::uint64_t limit_bytes,
                                           const CapacityDecisionParameters& parameters = {});

}  // namespace gputopo::probe
