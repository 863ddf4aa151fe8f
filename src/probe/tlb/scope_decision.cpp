#include "probe/tlb/scope_decision.h"

namespace gputopo::probe {

double max_added_cycles(const std::vector<double>& miss_cycles, const TlbEvictionParameters& parameters) {
  double cycles = parameters.noise_cycles;
  for (const double one : miss_cycles) cycles += parameters.max_misses * one;
  return cycles;
}

std::optional<std::vector<EvictedPart>> evicted_parts(const TlbEviction& eviction, double miss_cycles,
                                                      const TlbEvictionParameters& parameters) {
  const double added = eviction.after_itself_cycles - eviction.alone_cycles;
  if (added <= 0 || added < parameters.least_part * miss_cycles) return std::nullopt;
  std::vector<EvictedPart> parts;
  for (const auto& [sm, cycles] : eviction.after_sms_cycles) {
    parts.push_back({sm, (cycles - eviction.alone_cycles) / added});
  }
  return parts;
}

}  // namespace gputopo::probe
