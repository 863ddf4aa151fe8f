// Device memory.
#include "probe/tlb/memory.h"

#include <fmt/format.h>

#include <cmath>

#include "discover/findings/reported_values.h"
#include "discover/measure/step.h"
#include "probe/bandwidth/bandwidth.h"
#include "probe/bandwidth/streams.h"
#include "probe/latency/memory_latency.h"
#include "probe/latency/surface.h"
#include "probe/survey/site.h"
#include "probe/tlb/level_values.h"
#include "probe/warps/loaded_latency.h"

namespace gputopo {
namespace {

Attribute memory_size(Context& context, const ElementInfo& element) {
  return reported_size(context.info(), element.id);
}

// A single level of loads that bypass L1 is memory only if loads through L1 show no farther level.
void require_no_farther_level(Context& context, const probe::Survey& survey) {
  if (survey.site.space != Space::kGlobalBypassL1) return;
  constexpr double kFarther = 1.15;
  const double farthest = context.surveys.survey(Space::kGlobal).levels.back().mode_cycles;
  const double only = survey.levels.front().mode_cycles;
  if (farthest <= kFarther * only) return;
  throw probe::Inconclusive(fmt::format(
      "loads that bypass L1 take {:.0f} cycles, but other loads take up to {:.0f}: the loads that bypass L1 may hit L2",
      only, farthest));
}

Attribute memory_latency(Context& context, const ElementInfo& element) {
  const probe::Survey& survey = context.surveys.survey(*element.space);
  if (survey.levels.size() < 2) require_no_farther_level(context, survey);
  probe::MemoryQuestion question{.line_bytes = context.caches.shortest_shared_line_bytes()};
  if (survey.levels.size() >= 2) question.translated_bytes = context.surveys.translated_bytes();
  probe::ProbeRunner runner = context.runner();
  Attribute latency = probe::measure_device_latency(runner, survey, question);
  if (probe::may_hide_a_cache(survey) && has_element(context.vendor(), ElementId::kL3)) {
    latency.flags.emplace_back(
        "may_hit_a_cache: some loads behind the last cache that shows are clearly faster than loads of new lines, so "
        "another cache, which is nearly as slow as memory, may serve a part");
  }
  return latency;
}

template <StreamOp kOp>
Attribute memory_bandwidth(Context& context, const ElementInfo&) {
  probe::ProbeRunner runner = context.runner();
  return probe::measure_bandwidth(runner, probe::memory_streams(runner, kOp), "best_stream");
}

// With samples of the bandwidth over all footprints from the first cache to memory.
Attribute memory_sm_read_bandwidth(Context& context, const ElementInfo&) {
  probe::ProbeRunner runner = context.runner();
  Attribute attribute = probe::measure_bandwidth(runner, probe::one_sm_memory_streams(runner), "best_stream_of_one_sm");
  if (!context.keep_samples()) return attribute;
  probe::ProbeRunner of_footprints = context.runner();
  try {
    attribute.samples.push_back(probe::measure_by_footprint(of_footprints));
    attribute.samples.push_back(probe::measure_by_cold_footprint(of_footprints));
  } catch (const DeviceMemoryError& error) {
    of_footprints.log(fmt::format("bandwidth by footprint is incomplete: {}", error.what()));
  }
  return attribute;
}

Attribute memory_loaded_latency(Context& context, const ElementInfo& element) {
  context.require_space(*element.space);
  probe::ProbeRunner runner = context.runner();
  return probe::measure_loaded_latency(runner, probe::LoadedLevel::kDevice);
}

struct Pattern {
  std::string name;
  double cycles = 0;
  bool is_sum = false;  // a sum, not measured directly
};
using Patterns = std::vector<Pattern>;

// A path to memory: through L1, or past it.
struct Way {
  std::string prefix;  // for the names of its patterns
  probe::Site site;
  std::optional<double> l2_cycles;  // latency of an L2 hit; unset if there is no L2
  bool l2_is_sum = false;
  double memory_cycles = 0;
  probe::CacheAvoidance to_memory = probe::CacheAvoidance::kEvicted;
};

// The latencies of one way with a TLB hit and with a miss in each TLB level that shows. For L2 hits, the miss
// penalties of loads that bypass L1 are added; loads from memory are timed directly.
Patterns patterns_of(Context& context, const ElementInfo& memory, const Way& way) {
  Patterns from_l2;
  Patterns from_memory = {{"memory_tlb_hit", way.memory_cycles}};
  double translated = way.l2_cycles.value_or(0);
  if (way.l2_cycles) from_l2.push_back({"l2_hit_tlb_hit", translated, way.l2_is_sum});
  for (const ElementInfo* level : elements_of(context.vendor())) {
    if (level->kind != ElementKind::kTlb || level->space) continue;  // no texture TLBs
    const probe::TlbSurvey& tlbs = context.surveys.tlbs();
    if (level->depth >= tlbs.levels.size()) break;
    const bool window = probe::is_window(tlbs, level->depth);
    const std::string name = window ? "page_window" : std::string(level->name);
    const Attribute& penalty = context.attribute(level->id, AttributeId::kMissPenalty);
    const std::optional<double> adds = window ? tlbs.window->miss_cycles : penalty.number();
    if (adds && way.l2_cycles) {
      translated += *adds;
      from_l2.push_back({fmt::format("l2_hit_{}_miss", name), translated, true});
    }
    probe::ProbeRunner runner = context.runner();
    const auto cycles = probe::memory_cycles_after_tlb_misses(
        runner, way.site, tlbs, level->depth, context.surveys.survey(*memory.space).timer_cycles, way.to_memory);
    if (cycles) from_memory.push_back({fmt::format("memory_{}_miss", name), *cycles});
  }
  from_l2.insert(from_l2.end(), from_memory.begin(), from_memory.end());
  for (Pattern& pattern : from_l2) pattern.name.insert(0, way.prefix);
  return from_l2;
}

// Loads that L1 may answer. Programs run alone, so that shared caches can be evicted.
probe::Site site_through_l1(const Context& context) {
  probe::Site site = context.surveys.site(Space::kGlobal);
  site.exclusive = true;
  return site;
}

// The way through L1, which on some GPUs takes longer than the way past it (Mei et al. 2014, Table 3). Nothing if L1
// does not cache global loads, no loads can bypass L1, or the result is inconclusive.
std::optional<Way> way_through_l1(Context& context) try {
  if (!context.bench().has_space(Space::kGlobalBypassL1)) return std::nullopt;
  const Attribute& latency = context.attribute(ElementId::kL1, AttributeId::kLatency);
  const Attribute& penalty = context.attribute(ElementId::kL1, AttributeId::kMissPenalty);
  if (!latency.available() || !penalty.available()) return std::nullopt;
  const probe::Site site = site_through_l1(context);
  const probe::Survey& survey = context.surveys.survey(site);
  probe::ProbeRunner runner = context.runner();
  const Attribute memory = probe::measure_device_latency(runner, survey,
                                                         {.translated_bytes = context.surveys.translated_bytes(),
                                                          .line_bytes = context.caches.shortest_shared_line_bytes()});
  return Way{.prefix = "through_l1_",
             .site = site,
             .l2_cycles = *latency.number() + *penalty.number(),
             .l2_is_sum = true,
             .memory_cycles = *memory.number(),
             .to_memory = probe::CacheAvoidance::kFresh};
} catch (const probe::Inconclusive& error) {
  context.bench().log(fmt::format("latency_patterns: loads through L1 are inconclusive: {}", error.what()));
  return std::nullopt;
}

// The latency of L2; nullptr if global loads do not use it.
const Attribute* l2_of_globals(Context& context) {
  try {
    context.caches.require_l2_of_globals(ElementId::kL2);
  } catch (const probe::NotPresent&) {
    return nullptr;
  }
  return &context.attribute(ElementId::kL2, AttributeId::kLatency);
}

SampleTable latency_surface(Context& context) {
  const probe::Site site = site_through_l1(context);
  probe::ProbeRunner runner = context.runner();
  return probe::measure_latency_surface(runner, site, context.surveys.begun_survey(site).timer_cycles);
}

// Latencies by where a load is served and how its address is translated (Mei et al. 2014, Table 3). Patterns are
// measured, or are sums of measured values.
Attribute latency_patterns(Context& context, const ElementInfo& element) {
  Patterns patterns;
  const Attribute& l1 = context.attribute(ElementId::kL1, AttributeId::kLatency);
  if (l1.available()) patterns.push_back({"l1_hit", *l1.number()});
  const Attribute* const l2 = l2_of_globals(context);
  const Attribute& memory = context.attribute(element.id, AttributeId::kLatency);
  if ((l2 != nullptr && !l2->available()) || !memory.available()) {
    return unavailable(Reason::kDependency, "the latency of L2 or of device memory is unknown");
  }
  Way past_l1{.site = context.surveys.tlb_site(), .memory_cycles = *memory.number()};
  if (l2 != nullptr) {
    past_l1.l2_cycles = l2->number();
  } else {
    past_l1.to_memory = probe::CacheAvoidance::kUncached;
  }
  const auto add = [&](const Way& way) {
    const Patterns of_way = patterns_of(context, element, way);
    patterns.insert(patterns.end(), of_way.begin(), of_way.end());
  };
  add(past_l1);
  if (const Value* cold = memory.find_detail("tlb_cold_cycles")) {
    patterns.push_back({"memory_tlb_cold", std::get<double>(*cold)});
  }
  if (l2 != nullptr) {
    if (const std::optional<Way> through_l1 = way_through_l1(context)) add(*through_l1);
  }
  // The other patterns are measured directly, so they need not equal the sums.
  std::vector<std::string> sums;
  std::vector<double> cycles;
  for (const Pattern& pattern : patterns) {
    if (pattern.is_sum) sums.push_back(pattern.name);
    cycles.push_back(std::round(10 * pattern.cycles) / 10);
  }
  Attribute attribute = inferred_value(cycles, "cycles", "latencies_and_miss_penalties");
  attribute.conditions = l2 == nullptr ? conditions_of({&memory}) : conditions_of({l2, &memory});
  std::erase_if(attribute.conditions, [](const auto& entry) { return entry.first == "tlb"; });  // each has its own
  for (std::size_t i = 0; i < patterns.size(); ++i) attribute.add_detail(patterns[i].name, cycles[i]);
  if (!sums.empty()) attribute.add_detail("sums", sums);
  if (context.surveys.tlbs().window) {
    attribute.add_detail("page_window_bytes", static_cast<std::int64_t>(context.surveys.tlbs().window->bytes));
  }
  if (context.keep_samples()) attribute.samples.push_back(latency_surface(context));
  return attribute;
}

constexpr Step kMemorySteps[] = {
    {ElementKind::kMemory, AttributeId::kSize, memory_size},
    {ElementKind::kMemory, AttributeId::kLatency, memory_latency},
    {ElementKind::kMemory, AttributeId::kLatencyPatterns, latency_patterns},
    {ElementKind::kMemory, AttributeId::kReadBandwidth, memory_bandwidth<StreamOp::kRead>},
    {ElementKind::kMemory, AttributeId::kWriteBandwidth, memory_bandwidth<StreamOp::kWrite>},
    {ElementKind::kMemory, AttributeId::kSmReadBandwidth, memory_sm_read_bandwidth},
    {ElementKind::kMemory, AttributeId::kLoadedLatency, memory_loaded_latency, one_kernel_of<AccessProgram>},
};

}  // namespace

std::span<const Step> memory_steps() { return kMemorySteps; }

}  // namespace gputopo
