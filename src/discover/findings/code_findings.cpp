#include "discover/findings/code_findings.h"

#include <fmt/format.h>

#include "probe/code/edge.h"
#include "probe/code/jumps.h"
#include "probe/code/size.h"
#include "probe/code/survey.h"

namespace gputopo {

const ElementInfo* code_cache_at(Vendor vendor, std::size_t depth) {
  for (const ElementInfo* element : elements_of(vendor)) {
    if (element->kind == ElementKind::kCodeCache && element->depth == depth) return element;
  }
  return nullptr;
}

CodeFindings::CodeFindings(probe::DeviceSession& bench) : session_(bench) {}

CodeFindings::~CodeFindings() = default;

const probe::CodeSurvey& CodeFindings::survey() {
  return survey_.get([&] {
    probe::ProbeRunner own = runner();
    return probe::survey_code(own);
  });
}

const probe::CodeCache& CodeFindings::located_cache(ElementId element) {
  return located_.get(element, [&] {
    const std::size_t depth = info_of(element).depth;
    const probe::CodeCache cache = probe::find_code_cache(survey(), depth);
    if (depth > 0) require_none_hidden(depth - 1);
    return cache;
  });
}

// Levels are numbered as they show. A level behind a hidden one would be taken for the hidden one.
void CodeFindings::require_none_hidden(std::size_t level) {
  probe::HeldCode held{.bytes = survey().footprints_bytes[survey().levels[level].last]};
  try {
    const probe::CodeSize& found = size(code_cache_at(vendor_of(session_.info().vendor), level)->id);
    held = {.bytes = found.bytes, .is_sharp = found.sharp};
  } catch (const probe::Inconclusive&) {
    if (level > 0) require_none_hidden(level - 1);
  }
  if (const auto bytes = probe::hidden_level_bytes(survey(), level, held)) {
    throw probe::Inconclusive(
        fmt::format("code of {:.0f} B or more runs faster than any mix of hits in this level and the next, so another "
                    "level is hidden between them",
                    *bytes));
  }
}

const probe::CodeSize& CodeFindings::size(ElementId element) {
  return sizes_.get(element, [&] {
    probe::ProbeRunner own = runner();
    return probe::find_code_size(own, located_cache(element));
  });
}

const probe::CodeCache& CodeFindings::cache_with_size(ElementId element) {
  return sized_.get(element, [&] {
    probe::CodeCache cache = located_cache(element);
    cache.fits_instructions = size(element).fits_instructions;
    cache.in_turn = size(element).in_turn;
    return cache;
  });
}

const probe::CodeEdge& CodeFindings::steep_edge(ElementId element) {
  return edges_.get(element, [&] {
    probe::ProbeRunner own = runner();
    return probe::steep_edge(own, cache_with_size(element));
  });
}

const probe::CodeJumps& CodeFindings::jumps() {
  return jumps_.get([&] {
    probe::ProbeRunner own = runner();
    return probe::survey_jumps(own);
  });
}

const probe::FoundOperandCache& CodeFindings::operands() {
  return operands_.get([&] {
    probe::ProbeRunner own = runner();
    return probe::find_operand_cache(own);
  });
}

}  // namespace gputopo
