// The fetch granularity from the latencies of a cold pass, as a pure function.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace gputopo::probe {

struct FetchGranularity {
  std::uint64_t bytes = 0;
  double agreement = 0;  // part of the loads whose hit or miss is what this granularity predicts
  double runner_up = 0;  // the same for the next best granularity
};

// `latencies` of loads at 0, stride, 2*stride, ... of an array that was in no cache, each list one cold pass. A load at
// a multiple of the granularity misses (latency >= limit_cycles), every other one hits. Of the powers of two from
// `stride_bytes` to `longest_bytes`, the one that agrees with most loads. The first load of each pass is left out: it
// may carry a cold TLB.
[[nodiscard]] FetchGranularity fetch_granularity_of(std::span<const std::vector<std::uint32_t>> latencies,
                                                    std::uint64_t stride_bytes, double limit_cycles,
                                                    std::uint64_t longest_bytes);

}  // namespace gputopo::probe
