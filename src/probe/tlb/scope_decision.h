// How much of a TLB level other SMs evict: the delay of one SM's translations after another SM has loaded its own
// pages, relative to the delay after the SM's own other pages. A very cheap miss fools the method.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "probe/bench/sharing_groups.h"

namespace gputopo::probe {

struct TlbEvictionParameters {
  // Least mean delay that the SM's own other pages must cause, as a part of a miss. Larger values report nothing for
  // levels that keep many of the pages; smaller values take noise for sharing.
  double least_part = 0.15;
  // A longer delay than this multiple of the misses of this and all nearer levels, plus noise_cycles, is an outlier.
  double max_misses = 2;
  double noise_cycles = 16;
};

// The most that translation can add to a load that misses levels of these costs.
[[nodiscard]] double max_added_cycles(const std::vector<double>& miss_cycles,
                                      const TlbEvictionParameters& parameters = {});

// Mean translation delay of loads of one SM.
struct TlbEviction {
  double alone_cycles = 0;
  double after_itself_cycles = 0;                                  // after it has loaded other pages
  std::vector<std::pair<std::uint32_t, double>> after_sms_cycles;  // after another SM has
};
// Nothing if its own other pages add too little to a load.
[[nodiscard]] std::optional<std::vector<EvictedPart>> evicted_parts(const TlbEviction& eviction, double miss_cycles,
                                                                    const TlbEvictionParameters& parameters = {});

}  // namespace gputopo::probe
