#include "probe/amount.h"

#include "probe/eviction.h"
#include "probe/settle.h"
#include "probe/sharing_decision.h"

namespace gputopo::probe {
namespace {

constexpr std::uint32_t kMaxWarps = 32;  // that are tried
// Of each trial. Few: those of all warps run at one time on a GPU of a hundred SMs; odd, so that a median is a sample.
constexpr std::uint32_t kCopies = 3;

SampleTable table_of(std::span<const double> survived) {
  SampleTable table = make_table(
      "warps", Plot::kLine, {axis("evictor_warp", "evictor warp"), values("surviving_fraction", "surviving fraction")});
  for (std::size_t warp = 0; warp < survived.size(); ++warp) {
    table.data[0].push_back(static_cast<double>(warp));
    table.data[1].push_back(survived[warp]);
  }
  return table;
}

}  // namespace

Attribute measure_amount(Lab& lab, const Cache& cache) {
  require_exceeded(cache, "so nothing can be evicted from it");
  const ChaseArray victim = victim_array(cache);
  const std::uint64_t block = lab.info().max_threads_per_block.value_or(1024);
  const auto warps = static_cast<std::uint32_t>(std::min<std::uint64_t>(block / lab.info().warp_size, kMaxWarps));
  std::vector<double> survived;
  Decision<Instances> decision;
  for (const std::uint32_t touches : kEvictorTouches) {
    const ChaseArray evictor = evictor_array(cache, touches, victim.bytes);
    // Trial 0 shows what survives when nothing is evicted; in trial 1 the same warp evicts through the same instance.
    std::vector<EvictionTrial> trials = {{victim, {}, 0}};
    for (std::uint32_t warp = 0; warp < warps; ++warp) trials.push_back({victim, evictor, warp});
    const std::vector<double> survive = surviving_fractions(lab, cache, trials, kCopies);
    survived.assign(survive.begin() + 1, survive.end());
    decision = decide_amount(survive.front(), survived);
    if (decision.value) break;
  }
  const Instances found = settle(lab, "amount", decision);
  Attribute attribute =
      measured_exactly(lab.conditions(), found.amount, "per " + lab.unit_name(), "eviction_between_warps");
  attribute.add_detail("warps_sharing", found.warps_sharing);
  attribute.add_detail("warps_tried", static_cast<std::int64_t>(warps));
  if (lab.keep_samples()) attribute.samples.push_back(table_of(survived));
  return attribute;
}

}  // namespace gputopo::probe
