// Capacity of a cache, decided from views. Each view is at most the capacity, so the largest one is the answer:
//
//   fits      Largest footprint whose loads all hit when it is walked repeatedly. Exact under any replacement policy if
//             the index spreads a contiguous array evenly; too small otherwise.
//   resident  What one pass over several capacities leaves in the cache, counted by reading backwards. Exact under LRU
//             and FIFO for any index, because a backward read meets the resident lines before it evicts them; too low
//             under other policies.
//   packed    Largest set of lines, at any addresses, that are resident together. Exact under any policy and index, but
//             each line that does not fit costs a test, so it suits small caches (packing.h).
//   sampled   What one pass over several capacities leaves in the cache, from timing a few random elements. Unbiased
//             under any policy and index, with the accuracy of a proportion. Behind another cache, samples count by how
//             long ago they were loaded (residency_by_age.h).
//
// If memory is as near as the far part of the cache, clear_memory_loads_decision.h adds a view. next_look() asks for
// one view at a time, depending on the evidence so far; decide_capacity() combines them. Pure functions: size.cpp
// takes the views.
//
// What fools them: a neighbor's loads during all copies of a program; a nearer cache of about the same size.
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
  // Samples of a quick look, used if another view is exact, and of the full one, used if none is or if the quick look
  // contradicts it. Larger values narrow the interval; time grows in proportion.
  std::uint64_t quick_samples = 12'000;
  std::uint64_t full_samples = 270'000;
  // Limit of the quick look per line of the cache, as no view resolves less than a line. Smaller values miss lines by
  // chance; larger values take thousands of programs for a cache of few lines, of which each samples only some.
  double quick_samples_of_line = 60;
  // Sampled footprint, in capacities. Larger values fill sets that fill unevenly; smaller values give more hits.
  double sampled_capacities = 3;
  // The same for a cache that SMs share, which one thread reads back: just enough to exceed it clearly.
  double shared_capacities = 2;
  // The same if the resident part still grew with the last footprint read back. This is affordable, because a block
  // touches all of L2 many times faster than one thread reads it.
  double unsettled_capacities = 8;
  // The same if eviction is random, which prevents reading back: sets of two ways are full then.
  double chance_capacities = 4;
  // Smallest sampled footprint, in capacities: less evicts too little. Larger values exclude spaces with a limit.
  double min_capacities = 1.5;
  // A walk in order with at most this hit ratio misses nearly all, as under LRU. If more than this fraction of what
  // was loaded long ago is resident, the oldest is not evicted. Larger values accept more policies as LRU.
  double still_hits = 0.02;
  // Nothing hits any more from the first footprint with a smaller hit ratio than this, which allows for outliers.
  double nothing_hits = 0.01;
  // Largest footprint that is read backwards, in capacities. Larger values fill all sets that fill unevenly.
  double resident_capacities = 32;
  // Whether to pack lines if no other view is exact, at the cost of a test for each line that does not fit.
  bool packs = true;
  // Factor by which packing must exceed the other views. A line or two more only seemed to fit.
  double packed_beyond = 1.01;
  // Standard errors by which the quick look must exceed an exact view to ask for the full sample. Only one: the quick
  // look is cheap and not to be trusted with more.
  double doubt_errors = 1;
  // The same to replace an exact view: hundreds of sizes are measured, and chance must not replace any.
  double clear_errors = 4.5;
  // The same to replace a view that is only a lower bound, which takes less evidence.
  double likely_errors = 2;
  // If what is read back grew with every footprint, a sample below this fraction of it contradicts it: loads that
  // this cache did not serve looked like its hits. Smaller values accept such sizes; larger values reject sizes
  // because of TLB misses, which look like misses of a sample.
  double contradicting_part = 0.6;
  // Fraction of what is read back of a shared cache behind another that the nearer cache may have kept, although the
  // end was walked again. Larger values widen the interval.
  double kept_by_nearer = 1e-4;
  // Sets overflow alike if the first misses appear at `alike_part` of the capacity. If the space allows arrays of
  // `filling_capacities`, the sets that get the fewest lines are full too. Larger values flag more sizes.
  double alike_part = 0.97;
  double filling_capacities = 2;
};

struct Capacity {
  double bytes = 0;
  stats::Interval interval;
  std::string method;
  double resident_bytes = 0;    // read backwards
  double first_miss_bytes = 0;  // largest footprint without misses; 0 for L2
  double all_miss_bytes = 0;    // smallest survey footprint where nothing hits; 0 if there is none
  double sampled_bytes = 0;     // 0 if not sampled
  bool of_same_cache = false;   // measured through another space, and a sample through this one agrees
  Conditions conditions;
};

struct CapacityEvidence {
  bool is_shared = false;        // by SMs: one thread reads it, alone
  bool is_behind = false;        // behind another cache
  bool has_far_part = false;     // its hits have several latencies
  double cold_hits = 0;          // fraction of memory loads that look like hits
  double guess_bytes = 0;        // most that the survey saw it hold
  double line_bytes = 0;         // bytes that a load occupies, as far as is known
  double stride_bytes = 0;       // of the loads of every view
  double limit_bytes = 0;        // largest possible footprint; 0: no limit
  double misses_at_most = 1;     // largest fraction of the survey's loads that can miss
  std::uint64_t fits_bytes = 0;  // largest survey footprint that fits
  std::vector<FootprintHits> sweep;

  // Empty until the view is taken.
  std::optional<MemoryLoads> memory;
  std::optional<SizeView> resident;
  std::optional<SizeView> fits;
  std::optional<double> packed_bytes;      // 0: too large to pack
  std::vector<SampledResidency> sampled;   // one per look
  std::optional<std::string> not_sampled;  // why sampling failed
};

enum class CapacityMethod : std::uint8_t { kMemoryLoads, kResident, kFits, kPacked, kSampled };

struct Look {
  CapacityMethod view = CapacityMethod::kResident;
  // kSampled only: `samples` samples of a footprint of `capacities` * `base_bytes`.
  double capacities = 0;
  double base_bytes = 0;
  std::uint64_t samples = 0;
};

// Next view to take; nothing if no other view would add anything.
[[nodiscard]] std::optional<Look> next_look(const CapacityEvidence& evidence,
                                            const CapacityDecisionParameters& parameters = {});

// First footprint of a sweep where nothing hits; 0 if there is none.
[[nodiscard]] double all_miss_bytes(std::span<const FootprintHits> sweep,
                                    const CapacityDecisionParameters& parameters = {});

// Result of all views, once next_look() asks for no more. Leaves the conditions empty.
[[nodiscard]] Decision<Capacity> decide_capacity(const CapacityEvidence& evidence,
                                                 const CapacityDecisionParameters& parameters = {});

// Whether some sets may never have been full: the space's largest array (`limit_bytes`; 0: no limit) is less than
// twice the capacity, and some sets overflow long before others.
[[nodiscard]] bool may_leave_sets_unfilled(const Capacity& capacity, std::uint64_t limit_bytes,
                                           const CapacityDecisionParameters& parameters = {});

}  // namespace gputopo::probe
