// The sharers of an instruction cache (other SMs, other warps, constants), from the delay of code after they ran.
// Whatever slows code without evicting it fools the method, such as a neighbor on the same SM.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "probe/bench/decision.h"
#include "probe/bench/sharing_groups.h"

namespace gputopo::probe {

struct CodeSharingParameters {
  // Least relative delay of evicted code, so that neighbors' noise does not decide. Larger values report fewer caches.
  double least_contrast = 0.08;
  // Least evicted part if constants share the cache; 64 KiB may evict only some of it. Smaller values accept noise.
  double constants_evict = 0.15;
  // The same for other code, which exceeds the cache.
  double code_evicts = kEvicts;
};

// Times of code that nothing evicts, and of code that all other code evicts.
struct EvictionScale {
  double untouched_cycles = 0;
  double evicted_cycles = 0;

  // Evicted part for this time, 0 to 1.
  [[nodiscard]] double part(double cycles) const {
    return (cycles - untouched_cycles) / (evicted_cycles - untouched_cycles);
  }
};
// Nothing if the two are too close.
[[nodiscard]] Decision<EvictionScale> eviction_scale(double untouched_cycles, double evicted_cycles,
                                                     std::uint32_t instructions,
                                                     const CodeSharingParameters& parameters = {});

struct CodeAmount {
  std::int64_t value = 0;          // instances per SM
  std::int64_t warps_sharing = 0;  // including the first warp
};
// From the part of the first warp's code that each warp evicts.
[[nodiscard]] Decision<CodeAmount> decide_code_amount(std::span<const double> evicted_parts,
                                                      const CodeSharingParameters& parameters = {});

// Groups units by the cache that they share, in their order: a group holds the units that evict its first. Sharing is
// transitive, so each unit is tested once against every group before its own.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> group_by_eviction(
    std::vector<std::uint32_t> units, const std::function<bool(std::uint32_t victim, std::uint32_t evictor)>& evicts);

}  // namespace gputopo::probe
