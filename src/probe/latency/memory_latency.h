// Latency of device memory. A larger array in between evicts from the caches what is timed, so every load goes to
// memory and no band of latencies need be cut out (a far L2 hit may be slower than near memory). That nothing is left
// is checked: by loading the same lines again, which are hits then, and by sweeping the caches once more.
//
// What fools it: see memory_latency_decision.h; and pages that lose their translations to the evictor. So another line
// of each is loaded first.
#pragma once

#include <cstdint>
#include <optional>

#include "probe/latency/latency.h"
#include "probe/survey/site.h"

namespace gputopo::probe {

// Latency of loads whose translations no TLB holds.
struct ColdTlbLatency {
  double cycles = 0;
  std::uint64_t reach_bytes = 0;  // that was walked
};
// Means over the loads of either side.
struct MemorySides {
  double near_cycles = 0;
  double far_cycles = 0;
};
struct MemoryLatency {
  LevelLatency warm_tlb;             // of pages whose translations have just been used
  bool translated = true;            // no page was one too many for a TLB
  std::optional<MemorySides> sides;  // where the loads show two
  // TLB cold: one line a page over as much memory as there is, timed in the order it was touched: the oldest pages
  // first, which an LRU-like TLB that reaches less has dropped. Nothing where there is too little memory to make it so.
  std::optional<ColdTlbLatency> cold_tlb;
};
struct MemoryQuestion {
  std::uint64_t translated_bytes = 0;  // loads that are spread over more wait for translations, too; 0: any do
  std::uint64_t line_bytes = 128;      // the shortest line of the caches that SMs share, or what is shorter
};
[[nodiscard]] MemoryLatency find_memory_latency(Lab& lab, const Survey& survey, const MemoryQuestion& question);

[[nodiscard]] Attribute measure_device_latency(Lab& lab, const Survey& survey, const MemoryQuestion& question);

}  // namespace gputopo::probe
