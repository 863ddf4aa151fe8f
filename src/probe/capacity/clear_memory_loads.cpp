#include "probe/capacity/clear_memory_loads.h"

#include <fmt/format.h>

#include "probe/capacity/size.h"

namespace gputopo::probe {

MemoryLoads view_memory_loads(ProbeRunner& runner, const Cache& cache, std::uint64_t stride_bytes) {
  constexpr ClearMemoryLoadsParameters kParameters;
  const Site& site = cache.site();
  const double fits = largest_without_clear_misses(sweep_of(cache), cache.noise, kParameters);
  std::vector<FootprintHits> beyond;
  for (const double factor : kParameters.footprints) {
    const ChaseArray array = make_array(site, static_cast<std::uint64_t>(factor * fits), stride_bytes,
                                        counted_order(*cache.survey), runner.seed());
    const std::uint64_t loads =
        std::clamp(array.element_count() / kParameters.elements_of_load, std::uint64_t{1}, kParameters.max_loads);
    ChaseProgram program = make_program(site, {array}, {warm_step(site, array)});
    add_counted_steps(program, *cache.survey, loads);
    const stats::Histogram counted = counted_loads(runner.chase({program}).front());
    beyond.push_back({static_cast<double>(array.bytes), stats::fraction_below(counted, cache.hit_limit_cycles())});
  }
  const MemoryLoads found = memory_loads_of(beyond, cache.noise);
  runner.log(fmt::format("size: {:.0f}% of memory loads are clearly slower than hits; capacity {:.0f} B",
                         100 * found.distinguishable_part, found.capacity.bytes));
  return found;
}

}  // namespace gputopo::probe
