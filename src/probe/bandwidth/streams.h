// The streams that bandwidth is looked for with: how much of what they move, in how many blocks and threads with how
// many accesses under way. Which shape is fastest differs from GPU to GPU, so a few are tried. What fools them: a
// footprint that another cache serves.
#pragma once

#include <cstdint>
#include <vector>

#include "probe/survey/site.h"

namespace gputopo::probe {

// Over half of what fits a cache, and clearly more than the caches before it hold.
[[nodiscard]] std::vector<StreamProgram> cache_streams(const Lab& lab, const Cache& cache, StreamOp op);
// Over memory on the chip that programs address.
[[nodiscard]] std::vector<StreamProgram> scratchpad_streams(StreamOp op);
// By one SM: over what cache_streams() are of a cache that SMs share, and over four times the last cache.
[[nodiscard]] std::vector<StreamProgram> one_sm_cache_streams(const Cache& cache);
[[nodiscard]] std::vector<StreamProgram> one_sm_memory_streams(const Lab& lab);
// By one SM, over ever larger arrays from what fits any cache to four times the last one; and by all SMs together, from
// what has work for each of them. Each stream once over at least so many bytes that its start and end hardly count.
[[nodiscard]] std::vector<StreamProgram> footprint_streams(const Lab& lab);
// The same, each pass over what no cache holds; of those that are whole rounds of the loads of a block.
[[nodiscard]] std::vector<StreamProgram> cold_footprint_streams(const Lab& lab);
// Over memory_stream_bytes() of device memory.
[[nodiscard]] std::vector<StreamProgram> memory_streams(const Lab& lab, StreamOp op);

// Many times the last cache, so that a pass finds next to nothing of the one before there; no more than a quarter of
// the largest array.
[[nodiscard]] std::uint64_t memory_stream_bytes(const Lab& lab);

}  // namespace gputopo::probe
