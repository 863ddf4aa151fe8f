#include "probe/code/sharing_decision.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gputopo::probe {

Decision<EvictionScale> eviction_scale(double untouched_cycles, double evicted_cycles, std::uint32_t instructions,
                                       const CodeSharingParameters& parameters) {
  Decision<EvictionScale> decision;
  decision.basis = fmt::format("{} instructions take {:.0f} cycles, and {:.0f} after eviction", instructions,
                               untouched_cycles, evicted_cycles);
  if (evicted_cycles < (1 + parameters.least_contrast) * untouched_cycles || evicted_cycles <= untouched_cycles) {
    decision.why_not = fmt::format(
        "code takes {:.0f} cycles if nothing evicts it and {:.0f} if other code does: too close to detect eviction",
        untouched_cycles, evicted_cycles);
  } else {
    decision.value = {untouched_cycles, evicted_cycles};
  }
  return decision;
}

Decision<CodeAmount> decide_code_amount(std::span<const double> evicted_parts,
                                        const CodeSharingParameters& parameters) {
  const auto sharing =
      std::ranges::count_if(evicted_parts, [&](double part) { return part >= parameters.code_evicts; });
  if (sharing == 0)
    return {.why_not = "the first warp evicted its own code in the first test, but not when the test was repeated"};
  const double amount = std::round(static_cast<double>(evicted_parts.size()) / static_cast<double>(sharing));
  return {CodeAmount{static_cast<std::int64_t>(amount), sharing}};
}

std::vector<std::vector<std::uint32_t>> group_by_eviction(
    std::vector<std::uint32_t> units, const std::function<bool(std::uint32_t victim, std::uint32_t evictor)>& evicts) {
  std::vector<std::vector<std::uint32_t>> groups;
  while (!units.empty()) {
    const std::uint32_t victim = units.front();
    std::vector<std::uint32_t>& group = groups.emplace_back(std::vector{victim});
    std::vector<std::uint32_t> others;
    for (std::size_t i = 1; i < units.size(); ++i) (evicts(victim, units[i]) ? group : others).push_back(units[i]);
    units = std::move(others);
  }
  return groups;
}

}  // namespace gputopo::probe
