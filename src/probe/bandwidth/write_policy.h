// What caches do with stores. The program stores part of an array, every byte of it, so that no sector is left
// partial; a cache that fetches the rest of a sector only on a load would seem not to allocate. Then it loads the
// part: the first load of each line shows which cache has it. What fools it: lines that outlive the eviction of L2;
// far hits that are as slow as near memory.
#pragma once

#include "probe/bandwidth/write_policy_decision.h"
#include "probe/survey/site.h"

namespace gputopo::probe {

// For a cache with known line or fetch granularity. The detail store_hit is "kept" or "evicted".
[[nodiscard]] Attribute measure_write_allocate(ProbeRunner& runner, const Cache& cache);
// For an SM's own cache in front of an L2 that allocates on stores: "write_through" or "write_back".
[[nodiscard]] Attribute measure_write_policy(ProbeRunner& runner, const Cache& l1, const Cache& l2);
// For the last cache before memory (`cache_bytes`), which loads of `space` reach first: how much a stream of reads
// from memory loses to writes that stay within a part of the cache decides between "write_back" and "write_through".
// `memory_bytes`: footprint to read, many times the cache. `memory_bytes_per_second`: peak of the memory, 0 if
// unknown. Throws Inconclusive if the loss is in between.
[[nodiscard]] Attribute measure_write_policy_beside_reads(ProbeRunner& runner, Space space, std::uint64_t cache_bytes,
                                                          std::uint64_t memory_bytes, double memory_bytes_per_second);
// "write_back" for a cache that sustains `written` bytes per second although what is behind it takes at most `next`.
// Throws NotSupportedError if the difference proves nothing.
[[nodiscard]] Attribute write_policy_by_bandwidth(double written, double next);

}  // namespace gputopo::probe
