// Amount per SM: how many instances of a cache an SM has, from which warps evict each other's data.
#include <fmt/format.h>

#include <cmath>

#include "probe/eviction.h"

namespace gputopo::probe {

Attribute measure_amount(Lab& lab, const Cache& cache) {
  require_exceeded(cache, "so nothing can be evicted from it");
  const ChaseArray victim = victim_array(cache);
  const ChaseArray evictor = evictor_array(cache, victim.bytes);
  // Trial 0 shows what survives when nothing is evicted; in trial 1 the same warp evicts through the same instance.
  const std::uint64_t block = lab.info().max_threads_per_block.value_or(1024);
  const auto warps = static_cast<std::uint32_t>(std::min<std::uint64_t>(block / lab.info().warp_size, 32));
  std::vector<EvictionTrial> trials = {{victim, {}, 0}};
  for (std::uint32_t warp = 0; warp < warps; ++warp) trials.push_back({victim, evictor, warp});
  const std::vector<double> survive = surviving_fractions(lab, cache, trials);
  const double untouched = survive[0];
  const double evicted = survive[1];
  require_contrast(lab, untouched, evicted);
  const double middle = (untouched + evicted) / 2;
  std::uint32_t sharing = 0;
  SampleTable table = make_table(
      "warps", Plot::kLine, {axis("evictor_warp", "evictor warp"), values("surviving_fraction", "surviving fraction")});
  for (std::uint32_t warp = 0; warp < warps; ++warp) {
    sharing += survive[warp + 1] < middle ? 1 : 0;
    table.data[0].push_back(warp);
    table.data[1].push_back(survive[warp + 1]);
  }
  const double amount = static_cast<double>(warps) / sharing;
  const double rounded = std::round(amount);
  lab.log(fmt::format("amount: {} of {} warps share the instance of warp 0 (survive: {:.2f})", sharing, warps,
                      fmt::join(survive, " ")));
  constexpr double kWhole = 0.15;
  if (std::abs(amount - rounded) > kWhole * rounded) {
    throw Inconclusive(fmt::format("{} of {} warps share the cache of warp 0, which is no whole part", sharing, warps));
  }
  Attribute attribute = measured_exactly(lab.conditions(), static_cast<std::int64_t>(rounded), "per " + lab.unit_name(),
                                         "eviction_between_warps");
  attribute.add_detail("warps_sharing", static_cast<std::int64_t>(sharing));
  attribute.add_detail("warps_tried", static_cast<std::int64_t>(warps));
  if (lab.keep_samples()) attribute.samples.push_back(std::move(table));
  return attribute;
}

}  // namespace gputopo::probe
