// Physical sharing: whether loads through one space evict what another space has cached.
#include <fmt/format.h>

#include "probe/eviction.h"

namespace gputopo::probe {

bool shares_cache(Lab& lab, const Cache& victim, const Cache& evictor) {
  const ChaseArray array = victim_array(victim);
  const ChaseArray same = evictor_array(victim, array.bytes);
  const ChaseArray other = evictor_array(evictor);
  const std::vector<double> survive =
      surviving_fractions(lab, victim, {{array, {}, 0}, {array, same, 0}, {array, other, 0}});
  require_contrast(lab, survive[0], survive[1]);
  lab.log(fmt::format("sharing: {} evicts {}: {:.3f} survive ({:.3f} untouched, {:.3f} evicted)",
                      to_string(evictor.site().space), to_string(victim.site().space), survive[2], survive[0],
                      survive[1]));
  return survive[2] < (survive[0] + survive[1]) / 2;
}

}  // namespace gputopo::probe
