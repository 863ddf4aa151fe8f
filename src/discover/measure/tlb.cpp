// TLBs: the level at the element's depth.
#include "discover/measure/step.h"

namespace gputopo {
namespace {

Attribute miss_penalty(Context& context, const ElementInfo& element) {
  return probe::tlb_miss_penalty(context.tlbs(), element.depth);
}

Attribute reach(Context& context, const ElementInfo& element) {
  return probe::tlb_reach(context.lab(), context.tlbs(), element.depth);
}

Attribute entry_bytes(Context& context, const ElementInfo& element) {
  return probe::tlb_entry_bytes(context.tlbs(), element.depth);
}

Attribute entries(Context& context, const ElementInfo& element) {
  return probe::tlb_entries(context.tlbs(), element.depth);
}

Attribute ways(Context& context, const ElementInfo& element) { return probe::tlb_ways(context.tlbs(), element.depth); }

Attribute scope(Context& context, const ElementInfo& element) {
  probe::Lab lab = context.lab();
  return probe::tlb_scope(lab, context.tlb_site(), context.tlbs(), element.depth);
}

constexpr Step kSteps[] = {
    {ElementKind::kTlb, AttributeId::kMissPenalty, miss_penalty},
    {ElementKind::kTlb, AttributeId::kReach, reach},
    {ElementKind::kTlb, AttributeId::kEntryBytes, entry_bytes},
    {ElementKind::kTlb, AttributeId::kEntries, entries},
    {ElementKind::kTlb, AttributeId::kWays, ways},
    {ElementKind::kTlb, AttributeId::kScope, scope},
};

}  // namespace

std::span<const Step> tlb_steps() { return kSteps; }

}  // namespace gputopo
