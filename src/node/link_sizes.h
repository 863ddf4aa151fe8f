// Copies by their size: what a small one takes, and how large one must be for half of the bandwidth.
#pragma once

#include <cstdint>

#include "node/link_rounds.h"
#include "node/link_runs.h"

namespace gputopo::node {

inline constexpr std::uint64_t kLargestSize = 256ull << 20;  // that is tried of copies by size, without `full`

// `copy_latency` and `copy_half_size` of links whose copy_bandwidth is known, which is as it is alone for all of a
// batch.
void measure_sizes(LinkRuns& runs, const Batch& batch);

}  // namespace gputopo::node
