#include "probe/sharing/amount.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "probe/bench/value_or_throw.h"
#include "probe/sharing/eviction.h"
#include "probe/sharing/survival_decision.h"

namespace gputopo::probe {
namespace {

constexpr std::uint32_t kMaxWarps = 32;  // tried at most
// Copies of each trial. Few, so that all trials run at once on a GPU of a hundred SMs; odd: a median is a sample.
constexpr std::uint32_t kSurvivalCopies = 3;

// Survival of warp 0's lines after other warps' loads, and what follows from it.
struct WarpTrials {
  std::vector<std::uint32_t> warps;
  std::vector<double> survived;  // by warp
  Decision<Instances> decision;
};

std::vector<std::uint32_t> first_warps(std::uint32_t count) {
  std::vector<std::uint32_t> warps(count);
  std::iota(warps.begin(), warps.end(), 0u);
  return warps;
}

// If instances take warps in turns or in blocks, one of these warps uses another instance than warp 0.
std::vector<std::uint32_t> few_of(std::uint32_t count) { return {0, 1, count / 2, count - 1}; }

WarpTrials try_warps(ProbeRunner& runner, const Cache& cache, std::vector<std::uint32_t> warps) {
  const ChaseArray victim = victim_array(cache);
  WarpTrials found{.warps = std::move(warps), .survived = {}, .decision = {}};
  for (const std::uint32_t touches : kEvictorTouches) {
    const ChaseArray evictor = evictor_array(cache, touches, victim.bytes);
    // Trial 0 shows what survives without eviction; in trial 1 the same warp evicts through the same instance.
    std::vector<EvictionTrial> trials = {{victim, {}, 0}};
    for (const std::uint32_t warp : found.warps) trials.push_back({victim, evictor, warp});
    const std::vector<double> survive = surviving_fractions(runner, cache, trials, kSurvivalCopies);
    found.survived.assign(survive.begin() + 1, survive.end());
    found.decision = decide_amount(survive.front(), found.survived);
    if (found.decision.value) break;
  }
  return found;
}

SampleTable table_of(const WarpTrials& tried) {
  SampleTable table = make_table(
      "warps", Plot::kLine, {axis("evictor_warp", "evictor warp"), values("surviving_fraction", "surviving fraction")});
  for (std::size_t i = 0; i < tried.warps.size(); ++i) {
    table.data[0].push_back(tried.warps[i]);
    table.data[1].push_back(tried.survived[i]);
  }
  return table;
}

}  // namespace

Attribute measure_amount(ProbeRunner& runner, const Cache& cache, bool has_one) {
  require_exceeded(cache, "so nothing can be evicted from it");
  const std::uint64_t block = runner.info().max_threads_per_block.value_or(1024);
  const auto warps = static_cast<std::uint32_t>(std::min<std::uint64_t>(block / runner.info().warp_size, kMaxWarps));
  const std::vector<std::uint32_t> few = few_of(warps);
  WarpTrials tried;
  if (has_one && few.size() < warps) tried = try_warps(runner, cache, few);
  const bool all_evict =
      tried.decision.value && tried.decision.value->warps_sharing == static_cast<std::int64_t>(few.size());
  if (!all_evict) tried = try_warps(runner, cache, first_warps(warps));
  const Instances found = value_or_throw(runner, "amount", tried.decision);
  Attribute attribute =
      measured_exactly(runner.conditions(), found.amount, "per " + runner.unit_name(), "eviction_between_warps");
  attribute.add_detail("warps_sharing", found.warps_sharing);
  attribute.add_detail("warps_tried", static_cast<std::int64_t>(tried.warps.size()));
  if (runner.keep_samples()) attribute.samples.push_back(table_of(tried));
  return attribute;
}

}  // namespace gputopo::probe
