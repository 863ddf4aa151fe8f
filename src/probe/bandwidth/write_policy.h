// What caches do with stores. Part of an array is stored, element after element at the smallest stride, so that every
// sector is written whole: a cache that brings in what a store leaves of a sector only when it is loaded would look as
// if it had not allocated. Then it is loaded, and where the first load of each line is served from tells who has it.
// What fools it: lines that outlive the eviction of L2, and far hits that take as long as near memory.
#pragma once

#include "probe/bandwidth/write_policy_decision.h"
#include "probe/survey/site.h"

namespace gputopo::probe {

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
[[nodiscard]] Attribute write_policy_by_bandwidth(double written, double next);

}  // namespace gputopo::probe
