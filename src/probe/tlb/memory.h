// The latency of device memory behind a TLB miss.
#pragma once

#include <cstdint>
#include <optional>

#include "probe/tlb/tlb.h"

namespace gputopo::probe {

// How to make memory serve the loads of memory_cycles_after_tlb_misses().
enum class ToMemory : std::uint8_t {
  kUncached,  // nothing: no cache answers them
  kEvicted,   // what SMs share is emptied before each pass
  kFresh,  // and the lines are loaded once only: caches of an SM may keep what was hit, whatever is loaded in between
};
// What a load from device memory takes, in cycles, whose translation misses the level at `depth` and all before it, and
// hits the next. Nothing where the level's entries are not known, or the next level is not clearly larger.
[[nodiscard]] std::optional<double> memory_cycles_after_tlb_misses(Lab& lab, const Site& site, const TlbSurvey& survey,
                                                                   std::size_t depth, double timer_cycles,
                                                                   ToMemory way);

}  // namespace gputopo::probe
