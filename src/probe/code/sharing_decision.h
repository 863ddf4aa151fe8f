// What shares an instruction cache, from how much longer code takes after others ran: other SMs, other warps,
// constants. Fooled by whatever makes code slow without evicting it, as a neighbour on the same SM.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "probe/bench/decision.h"
#include "probe/bench/sharing_groups.h"

namespace gputopo::probe {

struct CodeSharingParameters {
  // Evicted code must take longer by this part, or neighbours' noise could decide. Larger: fewer caches are told.
  double least_contrast = 0.08;
  // Part of the code from which on constants share its cache: they are limited to 64 KiB, which may only drive out a
  // part. Smaller takes noise for it.
  double constants_evict = 0.15;
  // The same of other code, that is more than the cache holds.
  double code_evicts = kEvicts;
};

// What code takes between when nobody evicts it and when as much other code does as there is.
struct EvictionScale {
  double untouched_cycles = 0;
  double evicted_cycles = 0;

  // How much of it was evicted, where it takes so long: 0 to 1.
  [[nodiscard]] double part(double cycles) const {
    return (cycles - untouched_cycles) / (evicted_cycles - untouched_cycles);
  }
};
// Nothing where the two are too near each other.
[[nodiscard]] Decision<EvictionScale> eviction_scale(double untouched_cycles, double evicted_cycles,
                                                     std::uint32_t instructions,
                                                     const CodeSharingParameters& parameters = {});

struct CodeAmount {
  std::int64_t value = 0;          // instances that an SM has
  std::int64_t warps_sharing = 0;  // with the first, itself included
};
// From the parts that each warp evicts of what the first one ran.
[[nodiscard]] Decision<CodeAmount> decide_code_amount(std::span<const double> evicted_parts,
                                                      const CodeSharingParameters& parameters = {});

// Units by the cache that they share, each group in their order: those that evict the first of a group are in it.
// Sharing is transitive, so each is asked of once for each group before its own.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> group_by_eviction(
    std::vector<std::uint32_t> units, const std::function<bool(std::uint32_t victim, std::uint32_t evictor)>& evicts);

}  // namespace gputopo::probe
