#include "fleet/verdicts.h"

namespace gputopo::fleet {

Verdicts verdicts_of(const Store& store, const std::vector<Population>& populations) {
  Verdicts verdicts;
  for (const Population& population : populations) {
    if (!population.kind.is_verdict) continue;
    for (const NumberCell& cell : population.texts) {
      const std::string& outcome = store.text(cell.reading->source);
      PartOfGpu part{cell.gpu, {.path = store.text(cell.reading->path), .basis = Basis::kVerdict}};
      part.value.text = store.text(cell.reading->text);
      part.value.worse = 1;
      part.value.decides = true;
      const bool is_bad = outcome == to_string(Outcome::kBad);
      if (is_bad || outcome == to_string(Outcome::kGood)) {
        if (!population.kind.link.empty()) verdicts.gpus.push_back(cell.gpu);
        if (is_bad) verdicts.bad.push_back(std::move(part));
      } else {
        verdicts.not_judged.push_back(std::move(part));
      }
    }
  }
  return verdicts;
}

}  // namespace gputopo::fleet
