// What shares an instruction cache: other SMs, other warps of the SM, constants.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "probe/code.h"
#include "probe/code_trial.h"
#include "probe/sharing_groups.h"
#include "probe/site.h"

namespace gputopo::probe {
namespace {

// Constants are limited to 64 KiB, which may only drive out a part.
constexpr double kConstantsEvict = 0.15;
// Warps that are tried: two for each of the four partitions that an SM of recent GPUs has.
constexpr std::uint32_t kWarps = 8;
// SMs whose neighbours are looked for, one after another while none is found.
constexpr std::uint32_t kMostVictims = 3;

// How much of the code of `victim` each other SM of its die drives out.
std::vector<EvictedPart> evicted_by_others(CodeEviction& eviction, const Die& die, std::uint32_t victim) {
  std::vector<EvictedPart> others;
  for (std::uint32_t sm = die.begin; sm < die.end; ++sm) {
    if (sm == victim) continue;
    const CodeEvictor evictor{.kind = CodeEvictor::Kind::kCode, .sm = sm, .victim_sm = victim};
    try {
      others.push_back({sm, eviction.evicted_parts({evictor}).front()});
    } catch (const NotSupportedError&) {
      continue;  // a number that no SM has
    }
  }
  return others;
}

}  // namespace

Attribute measure_code_shared_between(Lab& lab, const CodeCache& cache) {
  CodeEviction eviction(lab, cache);
  UnitGroups sharing;
  SampleTable table = make_table(
      "pairs", Plot::kMap,
      {axis("victim_sm", "victim sm"), axis("evictor_sm", "evictor sm"), values("evicted_part", "evicted part")});
  // An SM that evicts the first of a group is in that group: sharing is transitive, and each is tried once. Returns the
  // others.
  const auto take_group = [&](const std::vector<std::uint32_t>& left) {
    std::vector<std::uint32_t> group = {left.front()};
    std::vector<std::uint32_t> others;
    for (std::size_t i = 1; i < left.size(); ++i) {
      const CodeEvictor evictor{.kind = CodeEvictor::Kind::kCode, .sm = left[i], .victim_sm = left.front()};
      const double part = eviction.evicted_parts({evictor}).front();
      (part >= kEvicts ? group : others).push_back(left[i]);
      if (part < kEvicts) continue;
      table.data[0].push_back(left.front());
      table.data[1].push_back(left[i]);
      table.data[2].push_back(part);
    }
    sharing.groups.push_back(std::move(group));
    return others;
  };
  for (const Die& die : dies_of(lab.info())) {
    std::vector<std::uint32_t> left(die.end - die.begin);
    std::iota(left.begin(), left.end(), die.begin);
    while (!left.empty()) left = take_group(left);
  }
  const auto instances = static_cast<std::int64_t>(sharing.groups.size());
  Attribute attribute = measured(lab.conditions(), std::move(sharing), "", std::nullopt, "eviction_between_sms");
  attribute.add_detail("instances", instances);
  if (lab.keep_samples()) attribute.samples.push_back(std::move(table));
  return attribute;
}

Attribute measure_code_scope(Lab& lab, const CodeCache& cache) {
  CodeEviction eviction(lab, cache);
  // Where SMs are known to be switched off, an SM may have lost the neighbours that it would share with: others are
  // asked too.
  Die die = dies_of(lab.info()).front();
  if (die.end == 1) die.end = lab.info().sm_count;  // it takes others to ask
  const std::uint32_t victims = lab.info().physical_sm_ids ? std::min(kMostVictims, die.end) : 1;
  std::uint32_t victim = 0;
  std::vector<EvictedPart> others = evicted_by_others(eviction, die, victim);
  const auto shared = [&] {
    return std::any_of(others.begin(), others.end(), [](const EvictedPart& other) { return other.part >= kEvicts; });
  };
  while (!shared() && ++victim < victims) others = evicted_by_others(eviction, die, victim);
  return scope_of_sm(lab, std::min(victim, victims - 1), others);
}

Attribute measure_code_amount(Lab& lab, const CodeCache& cache) {
  CodeEviction eviction(lab, cache);
  std::vector<CodeEvictor> evictors;
  for (std::uint32_t warp = 0; warp < kWarps; ++warp) {
    evictors.push_back({.kind = CodeEvictor::Kind::kCode, .warp = warp});
  }
  const std::vector<double> parts = eviction.evicted_parts(evictors);
  SampleTable table =
      make_table("warps", Plot::kLine, {axis("evictor_warp", "evictor warp"), values("evicted_part", "evicted part")});
  table.data[1] = parts;
  for (std::uint32_t warp = 0; warp < kWarps; ++warp) table.data[0].push_back(warp);
  const auto sharing = std::count_if(parts.begin(), parts.end(), [](double part) { return part >= kEvicts; });
  if (sharing == 0) throw Inconclusive("the warp that evicted its own code before did not do so again");
  const double amount = std::round(static_cast<double>(kWarps) / static_cast<double>(sharing));
  Attribute attribute = measured_exactly(lab.conditions(), static_cast<std::int64_t>(amount), "per " + lab.unit_name(),
                                         "eviction_between_warps");
  attribute.add_detail("warps_sharing", static_cast<std::int64_t>(sharing));
  attribute.add_detail("warps_tried", static_cast<std::int64_t>(kWarps));
  if (lab.keep_samples()) attribute.samples.push_back(std::move(table));
  return attribute;
}

Attribute measure_code_sharing(Lab& lab, const CodeCache& cache) {
  CodeEviction eviction(lab, cache);
  const double part = eviction.evicted_parts({{.kind = CodeEvictor::Kind::kConstants}}).front();
  lab.log(fmt::format("code: constants evict {:.2f} of what other code does", part));
  std::vector<std::string> partners;
  if (part >= kConstantsEvict) partners.emplace_back("constants");
  Attribute attribute = measured(lab.conditions(), partners, "", std::nullopt, "eviction_by_constants");
  attribute.add_detail("evicted_part", std::round(1000 * std::clamp(part, 0.0, 1.0)) / 1000);
  return attribute;
}

}  // namespace gputopo::probe
