// Device memory.
#include <fmt/format.h>

#include <cmath>

#include "discover/measure/step.h"
#include "discover/measure/told.h"
#include "probe/bandwidth.h"
#include "probe/latency.h"
#include "probe/site.h"
#include "probe/streams.h"

namespace gputopo {
namespace {

Attribute size(Context& context, const ElementInfo& element) { return told_size(context.info(), element.id); }

// Where loads that bypass L1 show one level, it is memory only if those that may hit L1 show none that is farther.
void require_no_farther_level(Context& context, const probe::Survey& survey) {
  if (survey.site.space != Space::kGlobalBypassL1) return;
  constexpr double kFarther = 1.15;
  const double farthest = context.caches.survey(Space::kGlobal).levels.back().mode_cycles;
  const double only = survey.levels.front().mode_cycles;
  if (farthest <= kFarther * only) return;
  throw probe::Inconclusive(fmt::format(
      "loads that bypass L1 take {:.0f} cycles, others up to {:.0f}: the first may hit L2", only, farthest));
}

Attribute latency(Context& context, const ElementInfo& element) {
  const probe::Survey& survey = context.caches.survey(*element.space);
  if (survey.levels.size() < 2) require_no_farther_level(context, survey);
  probe::MemoryQuestion question{.line_bytes = context.caches.shortest_shared_line_bytes()};
  if (survey.levels.size() >= 2) question.translated_bytes = context.caches.translated_bytes();
  probe::Lab lab = context.lab();
  return probe::measure_device_latency(lab, survey, question);
}

template <StreamOp kOp>
Attribute bandwidth(Context& context, const ElementInfo&) {
  probe::Lab lab = context.lab();
  return probe::measure_bandwidth(lab, probe::memory_streams(lab, kOp), "best_stream");
}

// With the whole way from the first cache to memory beside it.
Attribute sm_read_bandwidth(Context& context, const ElementInfo&) {
  probe::Lab lab = context.lab();
  Attribute attribute = probe::measure_bandwidth(lab, probe::one_sm_memory_streams(lab), "best_stream_of_one_sm");
  if (!context.keep_samples()) return attribute;
  probe::Lab of_footprints = context.lab();
  attribute.samples.push_back(probe::measure_by_footprint(of_footprints, probe::footprint_streams(of_footprints)));
  return attribute;
}

Attribute loaded_latency(Context& context, const ElementInfo& element) {
  context.require_space(*element.space);
  probe::Lab lab = context.lab();
  return probe::measure_loaded_latency(lab, probe::LoadedLevel::kDevice);
}

using Patterns = std::vector<std::pair<std::string, double>>;

// Loads from L2 and from memory whose translation misses each level of TLB, as far as levels show.
void add_tlb_misses(Context& context, const ElementInfo& memory, double l2_cycles, Patterns& from_l2,
                    Patterns& from_memory) {
  double translated = l2_cycles;
  for (const ElementInfo* level : elements_of(context.vendor())) {
    if (level->kind != ElementKind::kTlb) continue;
    const Attribute& penalty = context.attribute(level->id, AttributeId::kMissPenalty);
    if (level->depth >= context.tlbs().levels.size()) break;
    // What a miss adds to loads from memory is timed as it is, whether or not it is known what it adds to others.
    if (penalty.available()) {
      translated += *penalty.number();
      from_l2.emplace_back(fmt::format("l2_hit_{}_miss", level->name), translated);
    }
    probe::Lab lab = context.lab();
    const auto cycles = probe::memory_cycles_after_tlb_misses(lab, context.tlb_site(), context.tlbs(), level->depth,
                                                              context.caches.survey(*memory.space).timer_cycles);
    if (cycles) from_memory.emplace_back(fmt::format("memory_{}_miss", level->name), *cycles);
  }
}

// Where a load is served from by how its address is translated (Mei et al. 2014, Table 3): what was measured of each,
// and sums where a pattern adds one to the other.
Attribute latency_patterns(Context& context, const ElementInfo& element) {
  Patterns patterns;
  const Attribute& l1 = context.attribute(ElementId::kL1, AttributeId::kLatency);
  if (l1.available()) patterns.emplace_back("l1_hit", *l1.number());
  context.caches.require_l2_of_globals(ElementId::kL2);
  const Attribute& l2 = context.attribute(ElementId::kL2, AttributeId::kLatency);
  const Attribute& memory = context.attribute(element.id, AttributeId::kLatency);
  if (!l2.available() || !memory.available()) {
    return unavailable(Reason::kDependency, "needs the latencies of L2 and of device memory");
  }
  patterns.emplace_back("l2_hit_tlb_hit", *l2.number());
  Patterns from_memory;
  add_tlb_misses(context, element, *l2.number(), patterns, from_memory);
  // The others are measured as they are, so that no sum of these need be one of those.
  std::vector<std::string> sums;
  for (const auto& [name, value] : patterns) {
    if (name.ends_with("_miss")) sums.push_back(name);
  }
  patterns.emplace_back("memory_tlb_hit", *memory.number());
  patterns.insert(patterns.end(), from_memory.begin(), from_memory.end());
  if (const Value* cold = memory.find_detail("tlb_cold_cycles")) {
    patterns.emplace_back("memory_tlb_cold", std::get<double>(*cold));
  }
  std::vector<double> cycles;
  for (const auto& [name, value] : patterns) cycles.push_back(std::round(10 * value) / 10);
  Attribute attribute = inferred_value(cycles, "cycles", "latencies_and_miss_penalties");
  attribute.conditions = conditions_of({&l2, &memory});
  std::erase_if(attribute.conditions, [](const auto& entry) { return entry.first == "tlb"; });  // each has its own
  for (std::size_t i = 0; i < patterns.size(); ++i) attribute.add_detail(patterns[i].first, cycles[i]);
  if (!sums.empty()) attribute.add_detail("sums", sums);
  return attribute;
}

constexpr Step kSteps[] = {
    {ElementKind::kMemory, AttributeId::kSize, size},
    {ElementKind::kMemory, AttributeId::kLatency, latency},
    {ElementKind::kMemory, AttributeId::kLatencyPatterns, latency_patterns},
    {ElementKind::kMemory, AttributeId::kReadBandwidth, bandwidth<StreamOp::kRead>},
    {ElementKind::kMemory, AttributeId::kWriteBandwidth, bandwidth<StreamOp::kWrite>},
    {ElementKind::kMemory, AttributeId::kSmReadBandwidth, sm_read_bandwidth},
    {ElementKind::kMemory, AttributeId::kLoadedLatency, loaded_latency, one_kernel_of<AccessProgram>},
};

}  // namespace

std::span<const Step> memory_steps() { return kSteps; }

}  // namespace gputopo
