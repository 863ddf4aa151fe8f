// The latency of device memory behind a TLB miss.
#pragma once

#include <cstdint>
#include <optional>

#include "probe/tlb/tlb.h"

namespace gputopo::probe {

// How to make memory serve the loads of memory_cycles_after_tlb_misses().
enum class CacheAvoidance : std::uint8_t {
  kUncached,  // nothing to do: no cache serves them
  kEvicted,   // empty the shared caches before each pass
  kFresh,     // also load each line only once: an SM's caches may keep lines that hit, whatever is loaded in between
};
// Latency (cycles) of a load from device memory whose translation misses the level at `depth` and all before it, and
// hits the next. Nothing if the level's entries are not known, or the next level is not clearly larger.
[[nodiscard]] std::optional<double> memory_cycles_after_tlb_misses(ProbeRunner& runner, const Site& site,
                                                                   const TlbSurvey& survey, std::size_t depth,
                                                                   double timer_cycles, CacheAvoidance way);

}  // namespace gputopo::probe
