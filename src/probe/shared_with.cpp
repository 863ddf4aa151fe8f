// Physical sharing: whether loads through one space evict what another space has cached.
#include <fmt/format.h>

#include "probe/eviction.h"

namespace gputopo::probe {

bool shares_cache(Lab& lab, const Cache& victim, const Cache& evictor) {
  const ChaseArray array = victim_array(victim);
  const ChaseArray same = evictor_array(victim);
  const ChaseArray other = evictor_array(evictor);
  const ChaseArray nothing = make_array(victim.site(), victim.fetch_bytes, victim.fetch_bytes);
  const bool constant_full = victim.site().limit_bytes != 0 && array.bytes + same.bytes > victim.site().limit_bytes;
  const ChaseArray reference =
      constant_full ? make_array(victim.site(), victim.site().limit_bytes - array.bytes, victim.fetch_bytes) : same;
  const std::vector<double> survive =
      surviving_fractions(lab, victim, {{array, nothing, 0}, {array, reference, 0}, {array, other, 0}});
  if (survive[0] - survive[1] < lab.parameters().least_contrast) {
    throw Inconclusive(fmt::format("a second array in the same space evicts hardly anything ({:.2f} to {:.2f} hits)",
                                   survive[0], survive[1]));
  }
  lab.log(fmt::format("sharing: {} evicts {}: {:.3f} survive ({:.3f} untouched, {:.3f} evicted)",
                      to_string(evictor.site().space), to_string(victim.site().space), survive[2], survive[0],
                      survive[1]));
  return survive[2] < (survive[0] + survive[1]) / 2;
}

}  // namespace gputopo::probe
