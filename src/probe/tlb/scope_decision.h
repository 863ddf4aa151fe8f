// How much of a level of TLB other SMs drive out, from what the translations of one SM's pages take after they loaded
// pages of their own, as a part of what its own other pages do. What fools it is a miss that hardly costs anything.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "probe/bench/sharing_groups.h"

namespace gputopo::probe {

struct TlbEvictionParameters {
  // Of a miss, what the SM's own other pages must add to its loads on the average. Larger: nothing is told of levels
  // that keep many of the pages; smaller: noise is taken for sharing.
  double least_part = 0.15;
  // A load takes longer by no more than what misses of this and all nearer levels do, twice, and so many cycles of
  // noise; by more is an outlier.
  double max_misses = 2;
  double noise_cycles = 16;
};

// The most that translations can add to a load that misses levels of these costs.
[[nodiscard]] double max_added_cycles(const std::vector<double>& miss_cycles,
                                      const TlbEvictionParameters& parameters = {});

// What translations add to a load of one SM.
struct TlbEviction {
  double alone_cycles = 0;
  double after_itself_cycles = 0;                                  // after it has loaded other pages
  std::vector<std::pair<std::uint32_t, double>> after_sms_cycles;  // after another SM has
};
// Nothing where its own other pages add too little to a load to tell.
[[nodiscard]] std::optional<std::vector<EvictedPart>> evicted_parts(const TlbEviction& eviction, double miss_cycles,
                                                                    const TlbEvictionParameters& parameters = {});

}  // namespace gputopo::probe
