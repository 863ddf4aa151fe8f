#include "discover/measure/cache.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>

#include "discover/findings/reported_values.h"
#include "discover/measure/code_caches.h"
#include "discover/measure/step.h"
#include "probe/capacity/line_size.h"
#include "probe/code/constants_beside_code.h"
#include "probe/latency/attribute.h"
#include "probe/latency/latency.h"
#include "probe/latency/miss_penalty.h"
#include "probe/sharing/amount.h"
#include "probe/sharing/cache_scope.h"
#include "probe/sharing/shared_between.h"
#include "probe/structure/replacement.h"
#include "probe/survey/fetch_granularity.h"
#include "probe/warps/address_cost.h"
#include "probe/warps/atomics.h"
#include "probe/warps/loaded_latency.h"

namespace gputopo {
namespace {

using probe::Cache;
using probe::ProbeRunner;

// For a cache that holds all of constant memory: what `measure` finds if constants and code share the cache.
std::optional<Attribute> beside_code(Context& context, const ElementInfo& element,
                                     const std::function<Attribute(const probe::CodeSurvey&)>& measure) {
  if (!context.caches.holds_all_constants(element.id)) return std::nullopt;
  try {
    return measure(context.code.survey());
  } catch (const NotSupportedError& error) {
    context.bench().log(
        fmt::format("{}: measuring constants together with code failed: {}", element.name, error.what()));
    return std::nullopt;
  }
}

Attribute fetch_granularity(Context& context, const ElementInfo& element) {
  return to_attribute(context.caches.located_cache(element.id), context.caches.fetch(element.id),
                      context.keep_samples());
}

Attribute line_size(Context& context, const ElementInfo& element) {
  Attribute line = to_attribute(context.caches.line(element.id));
  flag_hidden_memory(context, element, line);
  return line;
}

// ---- Size ----

// Adds the size at each carve-out, measured once for each physical cache.
void add_size_by_carve_out(Context& context, const ElementInfo& element, Attribute& size) {
  const bool is_l1 = element.id != ElementId::kL1 && !context.info().carve_outs_bytes.empty() &&
                     context.attribute(ElementId::kL1, AttributeId::kSize).available() &&
                     context.caches.sharing(element.id, ElementId::kL1).shared;
  const ElementId physical = is_l1 ? ElementId::kL1 : element.id;
  add_to(context.caches.size_by_carve_out(physical), context.keep_samples(), size);
  if (is_l1) size.add_condition("carve_outs_measured_as", std::string(to_string(physical)));
}

// Replaces the size that one SM saw by the size of the whole cache.
void take_whole_size(const CacheFindings::TotalSize& whole, Attribute& size) {
  size.flags.insert(size.flags.end(), whole.flags.begin(), whole.flags.end());
  if (whole.seen_bytes) size.add_detail("seen_bytes", *whole.seen_bytes);
  size.value = static_cast<std::int64_t>(whole.bytes);
  size.low = whole.interval.low;
  size.high = whole.interval.high;
  size.method = whole.method;
}

// The vendor's size becomes the value. The measured size becomes details, with its flags.
Attribute told_beside(Attribute told, const Attribute& measured) {
  told.details = measured.details;
  told.details.insert(told.details.begin(), {{"measured_bytes", *measured.number()},
                                             {"measured_low_bytes", *measured.low},
                                             {"measured_high_bytes", *measured.high}});
  told.method = measured.method;
  told.flags = measured.flags;
  told.conditions = measured.conditions;
  told.samples = measured.samples;
  return told;
}

// Results of loads of one word per line depend on the line size, which may be unknown.
void flag_unknown_lines(Context& context, const Cache& cache, Attribute& attribute) {
  if (cache.site().reaches_into_lines() || context.caches.line_of_l1() != nullptr) return;
  attribute.flags.emplace_back(
      "line_size_unknown: global loads do not show the L1 line size; if L1 lines are shorter than 128 B, the loads of "
      "a thread skip some lines");
}

Attribute size(Context& context, const ElementInfo& element) {
  const Cache& cache = context.caches.cache_with_line(element.id);
  const auto constants = beside_code(context, element, [&](const probe::CodeSurvey& code) {
    ProbeRunner runner = context.runner();
    return probe::measure_constant_size_beside_code(runner, code, cache);
  });
  if (constants) return *constants;
  const probe::Capacity& capacity = context.caches.capacity(element.id);
  Attribute measured = to_attribute(cache, capacity, context.keep_samples());
  flag_unknown_lines(context, cache, measured);
  if (capacity.of_same_cache) measured.add_condition("measured_as", std::string(to_string(ElementId::kL1)));
  if (cache.site().exclusive) {
    take_whole_size(context.caches.whole_size(element.id), measured);
    const Attribute told = reported_size(context.info(), element.id);
    return told.available() ? told_beside(told, measured) : measured;
  }
  if (cache.site().space != Space::kConstant) add_size_by_carve_out(context, element, measured);
  return measured;
}

// ---- Latency ----

// Nullptr if the sides are unknown or there is only one.
const probe::SmsByPartition* sides_if_known(Context& context, const ElementInfo& element) {
  try {
    const probe::SmsByPartition& sides = context.caches.sides(element.id);
    return sides.sms.size() > 1 ? &sides : nullptr;
  } catch (const NotSupportedError& error) {
    context.bench().log(fmt::format("{}: the partition near each SM is not known: {}", element.name, error.what()));
  } catch (const probe::Inconclusive& error) {
    context.bench().log(fmt::format("{}: the partition near each SM is not known: {}", element.name, error.what()));
  }
  return nullptr;
}

Attribute latency(Context& context, const ElementInfo& element) {
  // Loads that fit the nearest part of the cache do not wait for translation.
  if (const probe::Survey* survey = context.caches.hidden_by_translation(element.id)) {
    return to_attribute(*survey, {.nearest = probe::nearest_latency(*survey)}, context.keep_samples());
  }
  const Cache& cache = context.caches.located_cache(element.id);
  // An SM's own caches are looked up in parallel with translation, or are small enough to be translated.
  const std::uint64_t translated = cache.site().exclusive ? context.surveys.translated_bytes() : 0;
  // A cache that may have partitions has near and far hits.
  const bool may_have_parts = context.caches.may_have_partitions(element.id);
  const bool has_levels = may_have_parts && cache.last_level > cache.first_level;
  const probe::SmsByPartition* sides = has_levels ? sides_if_known(context, element) : nullptr;
  ProbeRunner runner = context.runner();
  if (may_have_parts) return probe::measure_far_latency(runner, cache, translated, sides);
  return probe::measure_latency(runner, cache, translated);
}

// The penalty of the last cache before memory. Memory latency is measured with all caches evicted.
Attribute penalty_before_memory(Context& context, const ElementInfo& element) {
  const Attribute& hit = context.attribute(element.id, AttributeId::kLatency);
  const Attribute& miss = context.attribute(ElementId::kDevice, AttributeId::kLatency);
  if (!hit.available() || !miss.available()) {
    return unavailable(Reason::kDependency,
                       fmt::format("the latency of {} or of device memory is unknown", element.name));
  }
  Attribute attribute =
      probe::measured({}, std::round((*miss.number() - *hit.number()) * 10) / 10, "cycles",
                      stats::Interval{*miss.low - *hit.high, *miss.high - *hit.low}, "device_latency_minus_near_hit");
  attribute.conditions = conditions_of({&hit, &miss});
  if (*attribute.low <= 0) {
    throw probe::Inconclusive(
        fmt::format("loads that look like hits of {} take as long as loads from memory", element.name));
  }
  // A doubt about either latency is a doubt about the difference.
  for (const Attribute* part : {&hit, &miss}) {
    attribute.flags.insert(attribute.flags.end(), part->flags.begin(), part->flags.end());
  }
  return attribute;
}

// A footprint whose lines share few sets of the next cache misses that cache as well. Loads that bypass this cache,
// over more lines, show how long hits of the next cache take.
void require_served_by_next(Context& context, const Cache& cache, ElementId next) {
  const ElementInfo& info = info_of(next);
  const Space space = cache.site().space;
  if (info.kind != ElementKind::kDataCache || info.space != Space::kGlobalBypassL1) return;
  if (space == Space::kGlobalBypassL1 || space == Space::kConstant) return;  // they take another path there
  const Cache* behind = nullptr;
  try {
    behind = &context.caches.located_cache(next);
  } catch (const probe::NotPresent&) {
    return;
  } catch (const probe::Inconclusive&) {
    return;
  }
  const double missed = cache.survey->levels[cache.last_level + 1].mode_cycles;
  const std::vector<stats::Level>& levels = behind->survey->levels;
  const auto nearest = std::ranges::min_element(
      levels, {}, [&](const stats::Level& level) { return std::abs(level.mode_cycles - missed); });
  if (static_cast<std::size_t>(nearest - levels.begin()) <= behind->last_level) return;
  throw probe::Inconclusive(
      fmt::format("loads that miss this cache take {:.0f} cycles, about as long as loads that miss {} ({:.0f} cycles), "
                  "so they seem to miss both caches",
                  missed, to_string(next), nearest->mode_cycles));
}

Attribute miss_penalty(Context& context, const ElementInfo& element) {
  const std::optional<ElementId> next = next_of(context.vendor(), element.id);
  const bool is_last = next == ElementId::kDevice;
  if (is_last && context.caches.hidden_by_translation(element.id) != nullptr) {
    return penalty_before_memory(context, element);
  }
  const Cache& located_cache = context.caches.located_cache(element.id);
  // Only for global loads, because memory latency is measured with them.
  const bool memory_is_next = located_cache.site().space == Space::kGlobalBypassL1 &&
                              located_cache.last_level + 2 >= located_cache.survey->levels.size();
  if (memory_is_next) {
    // If the vendor reports a cache in between that did not show, misses go there.
    if (!is_last && next && reported_size(context.info(), *next).available()) {
      static_cast<void>(context.caches.located_cache(*next));
    }
    Attribute penalty = penalty_before_memory(context, element);
    if (!located_cache.far_part_doubt.empty()) penalty.flags.push_back(located_cache.far_part_doubt);
    return penalty;
  }
  context.caches.require_next_level(located_cache);
  const Cache& cache = context.caches.cache_with_size(element.id);
  if (next && cache.has_next_level()) require_served_by_next(context, cache, *next);
  const auto constants = beside_code(context, element, [&](const probe::CodeSurvey&) {
    ProbeRunner runner = context.runner();
    return probe::measure_constant_penalty_beside_code(runner, cache);
  });
  if (constants) return *constants;
  ProbeRunner runner = context.runner();
  return probe::measure_miss_penalty(runner, cache);
}

// ---- How many there are, and what shares them ----

Attribute amount(Context& context, const ElementInfo& element) {
  if (coverage_of(context.vendor(), element.id, AttributeId::kAmount) == Coverage::kApi) {
    static_cast<void>(context.caches.located_cache(element.id));  // throws if the cache is not present
    if (next_of(context.vendor(), element.id) == ElementId::kDevice) {
      return inferred_value(std::int64_t{1}, "per GPU", "all_dies_reach_it");
    }
    if (!context.info().xcd_count) return unavailable(Reason::kNotSupported, "the driver does not report this value");
    return api_value(static_cast<std::int64_t>(*context.info().xcd_count), "per GPU");
  }
  const Cache& cache = context.caches.cache_with_size(element.id);
  const bool has_one = context.caches.is_known_as_l1(element.id) &&
                       context.attribute(ElementId::kL1, AttributeId::kAmount).number() == 1.0;
  ProbeRunner runner = context.runner();
  return probe::measure_amount(runner, cache, has_one);
}

Attribute shared_with(Context& context, const ElementInfo& element) {
  static_cast<void>(context.caches.located_cache(element.id));  // throws if the cache is not present
  if (!context.attribute(element.id, AttributeId::kSize).available()) {
    return unavailable(Reason::kDependency, "the size of this cache is unknown");
  }
  std::vector<std::string> partners;
  probe::Conditions conditions;
  for (const ElementInfo* other : elements_of(context.vendor())) {
    if (other->id == element.id || other->kind != ElementKind::kDataCache) continue;
    // Only with caches that are measured anyway. The attributes that --full adds make the comparison themselves.
    if (coverage_of(context.vendor(), other->id, AttributeId::kSharedWith) != Coverage::kMeasured) continue;
    const Attribute& size = context.attribute(other->id, AttributeId::kSize);
    if (size.reason == Reason::kNotPresent || size.reason == Reason::kNotSupported) continue;
    if (!size.available())
      return unavailable(Reason::kDependency, fmt::format("the size of {} is unknown", other->name));
    const CacheFindings::Sharing sharing = context.caches.sharing(element.id, other->id);
    conditions.add(sharing.conditions);
    if (sharing.shared) partners.emplace_back(other->name);
  }
  Attribute attribute = probe::measured(conditions, partners, "", std::nullopt, "eviction_between_spaces");
  // No other cache was there to compare with, so the result rests on the size of this cache alone.
  if (conditions.is_empty()) attribute.conditions = context.attribute(element.id, AttributeId::kSize).conditions;
  flag_unknown_lines(context, context.caches.located_cache(element.id), attribute);
  return attribute;
}

Attribute shared_between(Context& context, const ElementInfo& element) {
  ProbeRunner runner = context.runner();
  return probe::measure_shared_between(runner, context.caches.cache_with_size(element.id));
}

Attribute scope(Context& context, const ElementInfo& element) {
  ProbeRunner runner = context.runner();
  return probe::measure_cache_scope(runner, context.caches.cache_with_size(element.id));
}

// ---- Structure ----

Attribute ways(Context& context, const ElementInfo& element) {
  if (element.id == ElementId::kConstantL15 && context.caches.holds_all_constants(element.id)) {
    if (const auto code = code_cache_of_constants(context)) {
      return inferred_from(context.attribute(*code, AttributeId::kWays), "ways_of_code_beside_constants");
    }
  }
  return probe::structure_ways(context.caches.structure(element.id));
}

Attribute sets(Context& context, const ElementInfo& element) {
  Attribute sets = probe::structure_sets(context.caches.structure(element.id));
  const Cache& whole = context.caches.cache_with_size(element.id);
  if (whole.first_level != whole.last_level) {
    sets.add_detail("partitions", context.attribute(element.id, AttributeId::kPartitions).value);
  }
  if (!whole.far_part_doubt.empty()) sets.flags.push_back(whole.far_part_doubt);
  if (may_leave_sets_unfilled(context.caches.capacity(element.id), whole.site().limit_bytes)) {
    sets.flags.emplace_back(
        "sets_may_not_be_full: the number of sets is computed from the measured size, but the true size may be larger");
  }
  return sets;
}

Attribute index(Context& context, const ElementInfo& element) {
  return probe::structure_index(context.caches.structure(element.id));
}

Attribute replacement(Context& context, const ElementInfo& element) {
  static_cast<void>(context.caches.located_cache(element.id));  // if it is not present, no nearer cache matters
  // This cache sees no loads of what a nearer cache keeps. It sees the order of use only if these are the newest.
  if (const std::optional<ElementId> nearer = before_in_space(context.vendor(), element.id)) {
    const Attribute& found = context.attribute(*nearer, AttributeId::kReplacement);
    if (!found.available())
      return unavailable(Reason::kDependency, "the replacement policy of the nearer cache is unknown");
    const auto& name = std::get<std::string>(found.value);
    if (name == "random" || name == "other") {
      throw probe::Inconclusive(
          "the nearer cache has a random or unknown replacement policy, so gputopo cannot control the order of the "
          "loads that reach this cache");
    }
  }
  const probe::Structure& structure = context.caches.structure(element.id);
  ProbeRunner runner = context.runner();
  return probe::structure_replacement(runner, context.caches.near_part(element.id), structure);
}

Attribute address_cost(Context& context, const ElementInfo& element) {
  ProbeRunner runner = context.runner();
  return probe::measure_address_cost(runner, context.caches.cache_with_line(element.id));
}

constexpr Step kCacheSteps[] = {
    {ElementKind::kDataCache, AttributeId::kFetchGranularity, fetch_granularity},
    {ElementKind::kDataCache, AttributeId::kLineSize, line_size},
    {ElementKind::kDataCache, AttributeId::kSize, size},
    {ElementKind::kDataCache, AttributeId::kLatency, latency},
    {ElementKind::kDataCache, AttributeId::kMissPenalty, miss_penalty},
    {ElementKind::kDataCache, AttributeId::kAmount, amount},
    {ElementKind::kDataCache, AttributeId::kSharedWith, shared_with},
    {ElementKind::kDataCache, AttributeId::kSharedBetween, shared_between},
    {ElementKind::kDataCache, AttributeId::kScope, scope},
    {ElementKind::kDataCache, AttributeId::kAddressCost, address_cost, one_kernel_of<AccessProgram>},
    {ElementKind::kDataCache, AttributeId::kWays, ways},
    {ElementKind::kDataCache, AttributeId::kSets, sets},
    {ElementKind::kDataCache, AttributeId::kIndex, index},
    {ElementKind::kDataCache, AttributeId::kReplacement, replacement},
};

}  // namespace

void flag_hidden_memory(Context& context, const ElementInfo& element, Attribute& attribute) {
  const Cache& cache = context.caches.located_cache(element.id);
  constexpr double kHitsOfCold = 0.1;
  if (!cache.site().exclusive || cache.cold_hits() <= kHitsOfCold) return;
  if (context.attribute(element.id, AttributeId::kFetchGranularity).available()) return;
  attribute.flags.push_back(fmt::format(
      "memory_loads_look_like_hits: {:.0f}% of loads from memory take no longer than hits", 100 * cache.cold_hits()));
}

std::span<const Step> cache_steps() { return kCacheSteps; }

}  // namespace gputopo
