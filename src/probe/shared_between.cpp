// Which SMs share one cache: from an SM each, two actors take turns, and where the second evicts what the first has
// loaded they share. Every pair is tried by itself and kept by itself, so that two pairs are never taken for one
// another; groups are what pairs connect, and a group in which a pair does not share is flagged.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "probe/eviction.h"
#include "probe/sharing_groups.h"

namespace gputopo::probe {
namespace {

// One victim against all SMs after it up to `end`, one after the other. Its first two evictors show what the rest is
// compared to: none, and the victim's own SM.
ChaseProgram pairs_program(const Cache& cache, std::uint32_t victim_sm, std::uint32_t end) {
  const ChaseArray victim = victim_array(cache);
  const ChaseArray evictor = evictor_array(cache, victim.bytes);
  ChaseProgram program = make_program(cache.site(), {victim, evictor}, {});
  program.exclusive = true;
  program.actors = {{.sm = victim_sm}, {.lane = 1, .sm = victim_sm}};
  const ChaseStep look{.kind = StepKind::kCounted, .loads = victim.element_count()};
  program.steps = {{.kind = StepKind::kWarm, .loads = 2 * victim.element_count()}, look};
  const auto evict_by = [&](std::uint32_t actor) {
    program.steps.push_back({.kind = StepKind::kWarm, .actor = actor, .array = 1, .loads = evictor.element_count()});
    program.steps.push_back(look);
  };
  evict_by(1);
  for (std::uint32_t sm = victim_sm + 1; sm < end; ++sm) {
    program.actors.push_back({.sm = sm});
    evict_by(static_cast<std::uint32_t>(program.actors.size() - 1));
  }
  return program;
}

// By physical ids where they are known.
UnitGroups unit_groups(const SharingGroups& found, const DeviceInfo& info) {
  UnitGroups units{found.groups};
  if (!info.physical_sm_ids) return units;
  for (std::vector<std::uint32_t>& group : units.groups) {
    for (std::uint32_t& id : group) id = info.physical_sm_ids->at(id);
  }
  return units;
}

}  // namespace

std::vector<std::vector<std::uint32_t>> connected_groups(
    std::uint32_t count, const std::vector<std::pair<std::uint32_t, std::uint32_t>>& pairs) {
  std::vector<std::uint32_t> root(count);
  std::iota(root.begin(), root.end(), 0u);
  const auto find = [&](std::uint32_t i) {
    while (root[i] != i) i = root[i] = root[root[i]];
    return i;
  };
  for (const auto& [a, b] : pairs) {
    const std::uint32_t first = std::min(find(a), find(b));
    root[find(a)] = root[find(b)] = first;
  }
  std::map<std::uint32_t, std::vector<std::uint32_t>> members;
  for (std::uint32_t i = 0; i < count; ++i) members[find(i)].push_back(i);
  std::vector<std::vector<std::uint32_t>> groups;
  for (auto& [first, group] : members) groups.push_back(std::move(group));
  return groups;
}

std::vector<Die> dies_of(const DeviceInfo& info) {
  const std::uint32_t sms = std::max(1u, info.sm_count / std::max(1u, info.xcd_count.value_or(1)));
  std::vector<Die> dies;
  for (std::uint32_t begin = 0; begin < info.sm_count; begin += sms) {
    dies.push_back({begin, std::min(begin + sms, info.sm_count)});
  }
  return dies;
}

SharingGroups sharing_groups(std::uint32_t count, const std::vector<std::pair<std::uint32_t, std::uint32_t>>& pairs) {
  SharingGroups result{connected_groups(count, pairs), {}};
  for (const std::vector<std::uint32_t>& group : result.groups) {
    for (std::size_t i = 0; i < group.size(); ++i) {
      for (std::size_t j = i + 1; j < group.size(); ++j) {
        const std::pair pair(group[i], group[j]);
        if (std::find(pairs.begin(), pairs.end(), pair) == pairs.end()) result.missing_pairs.push_back(pair);
      }
    }
  }
  return result;
}

Attribute scope_of_sm(const Lab& lab, std::uint32_t sm, const std::vector<EvictedPart>& others) {
  if (others.empty()) throw NotSupportedError("needs a second SM to evict from");
  std::vector<double> together = {static_cast<double>(sm)};
  SampleTable table = make_table("sms", Plot::kPoints, {sm_axis(), values("evicted_part", "evicted part")});
  for (const EvictedPart& other : others) {
    if (other.part >= kEvicts) together.push_back(other.sm);
    table.data[0].push_back(other.sm);
    table.data[1].push_back(other.part);
  }
  std::sort(together.begin(), together.end());
  // Of several dies those of others may not have been asked.
  const bool asked_all = dies_of(lab.info()).size() == 1 || others.size() + 1 >= lab.info().sm_count;
  const bool all = asked_all && together.size() == others.size() + 1;
  const std::string scope = all                    ? "GPU"
                            : together.size() == 1 ? lab.unit_name()
                                                   : fmt::format("{} {}s", together.size(), lab.unit_name());
  lab.log(fmt::format("scope: {} of {} other SMs evict what SM {} holds", together.size() - 1, others.size(), sm));
  Attribute attribute = measured(lab.conditions(), scope, "", std::nullopt, "eviction_between_sms");
  attribute.add_detail("sms_sharing", static_cast<std::int64_t>(together.size()));
  constexpr std::size_t kFew = 16;
  if (!all && together.size() <= kFew) attribute.add_detail("sms", together);
  if (lab.keep_samples()) attribute.samples.push_back(std::move(table));
  return attribute;
}

Attribute measure_shared_between(Lab& lab, const Cache& cache) {
  require_exceeded(cache, "so nothing can be evicted from it");
  std::int64_t tried = 0;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  SampleTable table = make_table("pairs", Plot::kMap,
                                 {axis("victim_sm", "victim sm"), axis("evictor_sm", "evictor sm"),
                                  values("surviving_fraction", "surviving fraction")});
  const auto try_pairs = [&](std::uint32_t victim, std::uint32_t end) {
    const ChaseProgram program = pairs_program(cache, victim, end);
    const std::uint32_t copies = lab.parameters().pair_copies;
    const std::vector<ChaseResult> results = lab.chase(std::vector<ChaseProgram>(copies, program));
    const auto survive = [&](std::size_t step) { return median_hit_fraction(results, step, cache.hit_limit_cycles()); };
    const double untouched = survive(1);
    const double evicted = survive(3);
    require_contrast(lab, untouched, evicted);
    for (std::uint32_t other = victim + 1; other < end; ++other) {
      ++tried;
      const double left = survive(3 + 2 * (other - victim));
      if (left >= (untouched + evicted) / 2) continue;
      pairs.emplace_back(victim, other);
      table.data[0].push_back(victim);
      table.data[1].push_back(other);
      table.data[2].push_back(left);
    }
  };
  for (const Die& die : dies_of(lab.info())) {
    for (std::uint32_t victim = die.begin; victim < die.end; ++victim) try_pairs(victim, die.end);
  }
  const std::uint32_t sms = lab.info().sm_count;
  const SharingGroups found = sharing_groups(sms, pairs);
  Attribute attribute =
      measured(lab.conditions(), unit_groups(found, lab.info()), "", std::nullopt, "eviction_between_sms");
  attribute.add_detail("instances", static_cast<std::int64_t>(found.groups.size()));
  std::map<std::size_t, std::int64_t> by_size;
  for (const auto& group : found.groups) ++by_size[group.size()];
  for (const auto& [size, count] : by_size) attribute.add_detail(fmt::format("instances_of_{}_sms", size), count);
  attribute.add_detail("pairs_tried", tried);
  attribute.add_condition("sm_ids", std::string(lab.info().physical_sm_ids ? "physical" : "logical"));
  for (const auto& [a, b] : found.missing_pairs)
    attribute.flags.push_back(fmt::format("sharing_not_transitive: {} and {} do not evict each other", a, b));
  lab.log(fmt::format("shared_between: {} caches for {} SMs", found.groups.size(), sms));
  if (lab.keep_samples()) attribute.samples.push_back(std::move(table));
  return attribute;
}

}  // namespace gputopo::probe
