// Latency of device memory. A larger array evicts the timed lines from the caches, so every load goes to memory, and
// no latency band is needed (a far L2 hit may be slower than near memory). Two checks show that nothing is left:
// loading the same lines again, which then hit, and another sweep of the caches.
//
// What fools it: see memory_latency_decision.h; and pages that lose their translations to the evictor, so another line
// of each is loaded first.
#pragma once

#include <cstdint>
#include <optional>

#include "probe/latency/latency.h"
#include "probe/survey/site.h"

namespace gputopo::probe {

// Latency of loads whose translations are in no TLB.
struct ColdTlbLatency {
  double cycles = 0;
  std::uint64_t reach_bytes = 0;  // span of the walked memory
};
// Means over the loads of each side.
struct MemorySides {
  double near_cycles = 0;
  double far_cycles = 0;
};
struct MemoryLatency {
  LevelLatency warm_tlb;             // of pages whose translations were just used
  bool translated = true;            // false if even one page waits for a TLB
  std::optional<MemorySides> sides;  // if the loads show two
  // TLB cold: one line per page over as much memory as possible, timed in the order in which they were touched: the
  // oldest pages come first, which an LRU-like TLB of smaller reach has evicted. Empty if there is too little memory.
  std::optional<ColdTlbLatency> cold_tlb;
};
struct MemoryQuestion {
  std::uint64_t translated_bytes = 0;  // loads that span more also wait for translations; 0: all do
  std::uint64_t line_bytes = 128;      // the shortest line of the caches that SMs share, or less
};
[[nodiscard]] MemoryLatency find_memory_latency(ProbeRunner& runner, const Survey& survey,
                                                const MemoryQuestion& question);

[[nodiscard]] Attribute measure_device_latency(ProbeRunner& runner, const Survey& survey,
                                               const MemoryQuestion& question);

}  // namespace gputopo::probe
