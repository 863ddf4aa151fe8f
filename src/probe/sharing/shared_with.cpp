#include "probe/sharing/shared_with.h"

#include <fmt/format.h>

#include <algorithm>

#include "probe/bench/value_or_throw.h"
#include "probe/sharing/eviction.h"
#include "probe/sharing/survival_decision.h"

namespace gputopo::probe {

bool shares_cache(ProbeRunner& runner, const Cache& victim, const Cache& evictor) {
  const ChaseArray array = victim_array(victim);
  // At least what evicts the victim's own lines; otherwise protected lines would seem to be in another cache.
  const std::uint32_t passes = std::max(evictor_passes(victim), evictor_passes(evictor));
  Decision<bool> decision;
  for (const std::uint32_t touches : kEvictorTouches) {
    const ChaseArray same = evictor_array(victim, touches, array.bytes);
    const ChaseArray other = evictor_array(evictor, touches);
    const std::vector<double> survive = surviving_fractions(
        runner, victim, {{array, {}, 0}, {array, same, 0, evictor_passes(victim)}, {array, other, 0, passes}});
    decision = decide_sharing({.untouched = survive[0], .evicted = survive[1]}, survive[2]);
    if (decision.value) break;
  }
  const std::string who =
      fmt::format("sharing: {} evicts {}", to_string(evictor.site().space), to_string(victim.site().space));
  return value_or_throw(runner, who, decision);
}

}  // namespace gputopo::probe
