// What caches do with stores. Part of an array is stored, element after element at the smallest stride, so that every
// sector is written whole: a cache that brings in what a store leaves of a sector only when it is loaded would look as
// if it had not allocated. Then it is loaded, and where the first load of each line is served from tells who has it.
#pragma once

#include <optional>

#include "probe/site.h"

namespace gputopo::probe {

// Parts of the lines that were found in the cache, each the median over the copies of the program.
struct StoreHits {
  double unstored = 0;      // never stored: what the program finds there anyhow
  double stored = 0;        // stored while the cache did not hold them
  double stored_again = 0;  // stored while it did
};

struct StoreTreatment {
  bool allocates = false;          // a store that misses brings its line in
  std::optional<bool> keeps_hits;  // a store that hits leaves its line there; nothing where that is not clear
};

// Throws Inconclusive where lines are found that were not stored, or some of those that were.
[[nodiscard]] StoreTreatment judge(const StoreHits& hits, double nearly_all);

// Of lines that a store finds in L1 and not in L2, as above.
struct PassingHits {
  double in_l1 = 0;         // before the store, in L1
  double unstored = 0;      // never stored, in L2 by loads that bypass L1
  double stored_in_l2 = 0;  // the same after the store
};

// Whether L1 passes stores on. Throws Inconclusive where L1 does not keep the lines, or L2 does.
[[nodiscard]] bool passes_stores_on(const PassingHits& hits, double nearly_all);

// Of a cache whose line or fetch granularity is known. The details have store_hit: "kept" or "evicted".
[[nodiscard]] Attribute measure_write_allocate(Lab& lab, const Cache& cache);
// Of an SM's own cache before an L2 that allocates what is stored: "write_through" or "write_back".
[[nodiscard]] Attribute measure_write_policy(Lab& lab, const Cache& l1, const Cache& l2);
// Of the last cache before memory, of `cache_bytes`, which loads of `space` come to first, from what a stream of reads
// from memory loses to writes that stay within a part of the cache: "write_back" or "write_through". `memory_bytes`: to
// read, many times the cache. `memory_bytes_per_second`: the most that memory could move, 0 where that is not known.
// Throws Inconclusive between the two.
[[nodiscard]] Attribute measure_write_policy_beside_reads(Lab& lab, Space space, std::uint64_t cache_bytes,
                                                          std::uint64_t memory_bytes, double memory_bytes_per_second);
// Of a cache that takes `written` bytes a second where what is behind it takes at most `next`: "write_back". Throws
// NotSupportedError where the difference proves nothing.
[[nodiscard]] Attribute write_policy_by_bandwidth(const Parameters& parameters, double written, double next);

}  // namespace gputopo::probe
