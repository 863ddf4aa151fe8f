// The streams that measure bandwidth: their footprints, blocks, threads and accesses under way. The fastest shape
// differs between GPUs, so several are tried. What fools them: a footprint that another cache serves.
#pragma once

#include <cstdint>
#include <vector>

#include "probe/survey/site.h"

namespace gputopo::probe {

// Streams over half of what fits the cache, but clearly more than nearer caches hold.
[[nodiscard]] std::vector<StreamProgram> cache_streams(const ProbeRunner& runner, const Cache& cache, StreamOp op);
// Streams over shared memory or LDS.
[[nodiscard]] std::vector<StreamProgram> scratchpad_streams(StreamOp op);
// Streams of one SM: over the footprint of cache_streams() for a shared cache, or over four times the last cache.
[[nodiscard]] std::vector<StreamProgram> one_sm_cache_streams(const Cache& cache);
[[nodiscard]] std::vector<StreamProgram> one_sm_memory_streams(const ProbeRunner& runner);
// Streams over growing arrays, up to four times the last cache: by one SM, from an array that fits any cache; by all
// SMs, from an array with work for each. Each launch moves enough bytes that its start and end hardly count.
[[nodiscard]] std::vector<StreamProgram> footprint_streams(const ProbeRunner& runner);
// The same, but each pass finds no cached data. Only footprints that are whole rounds of a block's loads.
[[nodiscard]] std::vector<StreamProgram> cold_footprint_streams(const ProbeRunner& runner);
// Streams over memory_stream_bytes() of device memory.
[[nodiscard]] std::vector<StreamProgram> memory_streams(const ProbeRunner& runner, StreamOp op);

// Many times the last cache, so that a pass finds almost nothing of the pass before in it. At most a quarter of the
// largest array that the device allows.
[[nodiscard]] std::uint64_t memory_stream_bytes(const ProbeRunner& runner);

}  // namespace gputopo::probe
