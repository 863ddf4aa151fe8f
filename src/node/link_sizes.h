// Copies by size: the time of a small copy, and the size that reaches half of the bandwidth.
#pragma once

#include <cstdint>

#include "node/link_rounds.h"
#include "node/link_runs.h"

namespace gputopo::node {

inline constexpr std::uint64_t kLargestSize = 256ull << 20;  // largest copy without `full`

// Measures `copy_latency` and `half_bandwidth_copy_size` of links with a copy_bandwidth that is the same alone and in
// the batch.
void measure_sizes(LinkRuns& runs, const Batch& batch);

}  // namespace gputopo::node
