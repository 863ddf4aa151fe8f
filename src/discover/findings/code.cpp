#include "discover/findings/code.h"

namespace gputopo {

const probe::CodeSurvey& CodeFindings::survey() {
  return survey_.get([&] {
    probe::Lab own = lab();
    return probe::survey_code(own);
  });
}

const probe::CodeCache& CodeFindings::located(ElementId element) {
  return located_.get(element, [&] { return probe::find_code_cache(survey(), info_of(element).depth); });
}

const probe::CodeSize& CodeFindings::size(ElementId element) {
  return sizes_.get(element, [&] {
    probe::Lab own = lab();
    return probe::find_code_size(own, located(element));
  });
}

const probe::CodeCache& CodeFindings::sized(ElementId element) {
  return sized_.get(element, [&] {
    probe::CodeCache cache = located(element);
    cache.fits_instructions = size(element).fits_instructions;
    cache.in_turn = size(element).in_turn;
    return cache;
  });
}

const probe::CodeEdge& CodeFindings::steep_edge(ElementId element) {
  return edges_.get(element, [&] {
    probe::Lab own = lab();
    return probe::steep_edge(own, sized(element));
  });
}

}  // namespace gputopo
