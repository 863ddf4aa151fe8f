// TLBs: the level at the element's depth.
#include <fmt/format.h>

#include "discover/measure/step.h"
#include "probe/tlb/level_values.h"
#include "probe/tlb/scope.h"

namespace gputopo {
namespace {

// Throws NotPresent if the level is a window of page tables and no TLB.
const probe::TlbSurvey& tlbs_with(Context& context, const ElementInfo& element) {
  if (element.space == Space::kTexture) return context.surveys.texture_tlbs();
  const probe::TlbSurvey& survey = context.surveys.tlbs();
  if (!probe::is_window(survey, element.depth)) return survey;
  throw probe::NotPresent(
      fmt::format("this level is not a TLB: loads that alternate between two distant pages always wait for address "
                  "translation, because page tables for only {} are active at a time; see device.latency_patterns",
                  survey.window->bytes == 0 ? "part of the memory" : fmt::format("{} B", survey.window->bytes)));
}

template <Attribute (*kTell)(const probe::TlbSurvey&, std::size_t)>
Attribute told(Context& context, const ElementInfo& element) {
  return kTell(tlbs_with(context, element), element.depth);
}

Attribute reach(Context& context, const ElementInfo& element) {
  return probe::tlb_reach(context.runner(), tlbs_with(context, element), element.depth);
}

Attribute tlb_scope(Context& context, const ElementInfo& element) {
  probe::ProbeRunner runner = context.runner();
  return probe::tlb_scope(runner, context.surveys.tlb_site(), tlbs_with(context, element), element.depth);
}

constexpr Step kTlbSteps[] = {
    {ElementKind::kTlb, AttributeId::kMissPenalty, told<probe::tlb_miss_penalty>},
    {ElementKind::kTlb, AttributeId::kReach, reach},
    {ElementKind::kTlb, AttributeId::kEntryBytes, told<probe::tlb_entry_bytes>},
    {ElementKind::kTlb, AttributeId::kEntries, told<probe::tlb_entries>},
    {ElementKind::kTlb, AttributeId::kWays, told<probe::tlb_ways>},
    {ElementKind::kTlb, AttributeId::kScope, tlb_scope},
};

}  // namespace

std::span<const Step> tlb_steps() { return kTlbSteps; }

}  // namespace gputopo
