#include "probe/sharing/shared_between.h"

#include <fmt/format.h>

#include <map>

#include "probe/bench/sharing_groups.h"
#include "probe/bench/value_or_throw.h"
#include "probe/sharing/eviction.h"
#include "probe/sharing/survival_decision.h"

namespace gputopo::probe {
namespace {

struct SharedBetweenParameters {
  // Copies of a program that tries one SM against all others. Few: each SM has one. Odd: a median is a sample.
  std::uint32_t copies = 3;
};
constexpr SharedBetweenParameters kSharedBetweenParameters;

// References for the other looks: without eviction, and after one by the victim's own SM.
constexpr std::size_t kSharedUntouchedStep = 1;
constexpr std::size_t kSharedEvictedStep = 3;
constexpr std::size_t step_after_evictor(std::uint32_t victim_sm, std::uint32_t evictor_sm) {
  return kSharedEvictedStep + 2 * (evictor_sm - victim_sm);
}

// One victim against each later SM up to `end`, one after another.
ChaseProgram pairs_program(const Cache& cache, std::uint32_t victim_sm, std::uint32_t end, std::uint32_t touches) {
  const ChaseArray victim = victim_array(cache);
  const ChaseArray evictor = evictor_array(cache, touches, victim.bytes);
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

struct SharingPair {
  UnitPair sms;
  double survived = 0;
};

// Pairs of `victim` and a later SM up to `end` that share.
std::vector<SharingPair> pairs_of(ProbeRunner& runner, const Cache& cache, std::uint32_t victim, std::uint32_t end) {
  std::vector<ChaseResult> copies;
  const auto survived = [&](std::size_t step) { return median_hit_fraction(copies, step, cache.hit_limit_cycles()); };
  Decision<double> decision;
  for (const std::uint32_t touches : kEvictorTouches) {
    copies = runner.chase(
        std::vector<ChaseProgram>(kSharedBetweenParameters.copies, pairs_program(cache, victim, end, touches)));
    decision = survival_limit({.untouched = survived(kSharedUntouchedStep), .evicted = survived(kSharedEvictedStep)});
    if (decision.value) break;
  }
  const double limit = value_or_throw(runner, "", decision);
  std::vector<SharingPair> pairs;
  for (std::uint32_t other = victim + 1; other < end; ++other) {
    const double left = survived(step_after_evictor(victim, other));
    if (left < limit) pairs.push_back({{victim, other}, left});
  }
  return pairs;
}

UnitGroups unit_groups(const SharingGroups& found, const DeviceInfo& info) {
  UnitGroups units{found.groups};
  if (!info.physical_sm_ids) return units;
  for (std::vector<std::uint32_t>& group : units.groups) {
    for (std::uint32_t& id : group) id = info.physical_sm_ids->at(id);
  }
  return units;
}

SampleTable table_of(const std::vector<SharingPair>& pairs) {
  SampleTable table = make_table("pairs", Plot::kMap,
                                 {axis("victim_sm", "victim sm"), axis("evictor_sm", "evictor sm"),
                                  values("surviving_fraction", "surviving fraction")});
  for (const SharingPair& pair : pairs) {
    table.data[0].push_back(pair.sms.first);
    table.data[1].push_back(pair.sms.second);
    table.data[2].push_back(pair.survived);
  }
  return table;
}

}  // namespace

Attribute measure_shared_between(ProbeRunner& runner, const Cache& cache) {
  require_exceeded(cache, "so nothing can be evicted from it");
  std::int64_t tried = 0;
  std::vector<SharingPair> pairs;
  for (const Die& die : dies_of(runner.info())) {
    for (std::uint32_t victim = die.begin; victim < die.end; ++victim) {
      const std::vector<SharingPair> found = pairs_of(runner, cache, victim, die.end);
      pairs.insert(pairs.end(), found.begin(), found.end());
      tried += die.end - victim - 1;
    }
  }
  std::vector<UnitPair> sms;
  for (const SharingPair& pair : pairs) sms.push_back(pair.sms);
  const SharingGroups found = sharing_groups(runner.info().sm_count, sms);
  Attribute attribute =
      measured(runner.conditions(), unit_groups(found, runner.info()), "", std::nullopt, "eviction_between_sms");
  attribute.add_detail("instances", static_cast<std::int64_t>(found.groups.size()));
  std::map<std::size_t, std::int64_t> by_size;
  for (const auto& group : found.groups) ++by_size[group.size()];
  for (const auto& [size, count] : by_size) attribute.add_detail(fmt::format("instances_of_{}_sms", size), count);
  attribute.add_detail("pairs_tried", tried);
  attribute.add_condition("sm_ids", std::string(runner.info().physical_sm_ids ? "physical" : "logical"));
  for (const auto& [a, b] : found.missing_pairs) {
    attribute.flags.push_back(fmt::format(
        "sharing_not_transitive: SMs {} and {} are in one group but do not evict each other's lines", a, b));
  }
  runner.log(fmt::format("shared_between: {} caches for {} SMs", found.groups.size(), runner.info().sm_count));
  if (runner.keep_samples()) attribute.samples.push_back(table_of(pairs));
  return attribute;
}

}  // namespace gputopo::probe
