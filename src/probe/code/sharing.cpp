#include "probe/code/sharing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "probe/bench/sharing_groups.h"
#include "probe/bench/sm_scope.h"
#include "probe/bench/value_or_throw.h"
#include "probe/code/sharing_decision.h"
#include "probe/code/survey.h"
#include "probe/code/trial.h"
#include "probe/survey/site.h"

namespace gputopo::probe {
namespace {

struct SharingParameters {
  // Warps that are tried: two for each of the four partitions of an SM of recent GPUs.
  std::uint32_t warps = 8;
  // SMs whose sharing partners are searched, one after another, until one has any.
  std::uint32_t max_victims = 3;
};
constexpr SharingParameters kSharingParameters;

// The evicted part of `victim`'s code for each other SM of its die. One program suffices if it clearly shows none.
std::vector<EvictedPart> evicted_by_others(CodeEviction& eviction, const Die& die, std::uint32_t victim) {
  std::vector<EvictedPart> others;
  for (std::uint32_t sm = die.begin; sm < die.end; ++sm) {
    if (sm == victim) continue;
    const CodeEvictor evictor{.kind = CodeEvictor::Kind::kCode, .sm = sm, .victim_sm = victim};
    try {
      const EvictedPart once{sm, eviction.evicted_parts({evictor}, 1).front()};
      others.push_back(clearly_not(once) ? once : EvictedPart{sm, eviction.evicted_parts({evictor}).front()});
    } catch (const NotSupportedError&) {
      continue;  // no SM has this number
    }
  }
  return others;
}

}  // namespace

Attribute measure_code_shared_between(ProbeRunner& runner, const CodeCache& cache) {
  CodeEviction eviction(runner, cache);
  SampleTable table = make_table("pairs", Plot::kMap,
                                 {axis("victim_sm", "victim sm"), axis("evictor_sm", "evictor sm"),
                                  values("evicted_fraction", "evicted fraction")});
  const auto evicts = [&](std::uint32_t victim, std::uint32_t evictor) {
    const double part =
        eviction.evicted_parts({{.kind = CodeEvictor::Kind::kCode, .sm = evictor, .victim_sm = victim}}).front();
    if (part < CodeSharingParameters{}.code_evicts) return false;
    table.data[0].push_back(victim);
    table.data[1].push_back(evictor);
    table.data[2].push_back(part);
    return true;
  };
  UnitGroups sharing;
  for (const Die& die : dies_of(runner.info())) {
    std::vector<std::uint32_t> sms(die.end - die.begin);
    std::iota(sms.begin(), sms.end(), die.begin);
    for (auto& group : group_by_eviction(std::move(sms), evicts)) sharing.groups.push_back(std::move(group));
  }
  const auto instances = static_cast<std::int64_t>(sharing.groups.size());
  Attribute attribute = measured(runner.conditions(), std::move(sharing), "", std::nullopt, "eviction_between_sms");
  attribute.add_detail("instances", instances);
  if (runner.keep_samples()) attribute.samples.push_back(std::move(table));
  return attribute;
}

Attribute measure_code_scope(ProbeRunner& runner, const CodeCache& cache) {
  CodeEviction eviction(runner, cache);
  // Tries other SMs if some are known to be switched off: an SM may have lost the neighbors that it would share with.
  Die die = dies_of(runner.info()).front();
  if (die.end == 1) die.end = runner.info().sm_count;  // there must be others to try
  const std::uint32_t victims = runner.info().physical_sm_ids ? std::min(kSharingParameters.max_victims, die.end) : 1;
  std::uint32_t victim = 0;
  std::vector<EvictedPart> others = evicted_by_others(eviction, die, victim);
  const auto shared = [&] {
    return std::ranges::any_of(
        others, [](double part) { return part >= kEvicts; }, &EvictedPart::part);
  };
  while (!shared() && ++victim < victims) others = evicted_by_others(eviction, die, victim);
  return scope_of_sm(runner, std::min(victim, victims - 1), others);
}

Attribute measure_code_amount(ProbeRunner& runner, const CodeCache& cache) {
  CodeEviction eviction(runner, cache);
  std::vector<CodeEvictor> evictors;
  for (std::uint32_t warp = 0; warp < kSharingParameters.warps; ++warp) {
    evictors.push_back({.kind = CodeEvictor::Kind::kCode, .warp = warp});
  }
  const std::vector<double> parts = eviction.evicted_parts(evictors);
  const CodeAmount amount = value_or_throw(runner, "code", decide_code_amount(parts));
  Attribute attribute =
      measured_exactly(runner.conditions(), amount.value, "per " + runner.unit_name(), "eviction_between_warps");
  attribute.add_detail("warps_sharing", amount.warps_sharing);
  attribute.add_detail("warps_tried", static_cast<std::int64_t>(parts.size()));
  if (!runner.keep_samples()) return attribute;
  SampleTable table = make_table(
      "warps", Plot::kLine, {axis("evictor_warp", "evictor warp"), values("evicted_fraction", "evicted fraction")});
  for (const CodeEvictor& evictor : evictors) table.data[0].push_back(evictor.warp);
  table.data[1] = parts;
  attribute.samples.push_back(std::move(table));
  return attribute;
}

Attribute measure_code_sharing(ProbeRunner& runner, const CodeCache& cache) {
  CodeEviction eviction(runner, cache);
  const double part = eviction.evicted_parts({{.kind = CodeEvictor::Kind::kConstants}}).front();
  runner.log(fmt::format("code: constants evict {:.2f} times as much code as other code does", part));
  std::vector<std::string> partners;
  if (part >= CodeSharingParameters{}.constants_evict) partners.emplace_back("constants");
  Attribute attribute = measured(runner.conditions(), partners, "", std::nullopt, "eviction_by_constants");
  attribute.add_detail("evicted_fraction", std::round(1000 * std::clamp(part, 0.0, 1.0)) / 1000);
  return attribute;
}

}  // namespace gputopo::probe
