#include "discover/measure/step.h"

#include <algorithm>

namespace gputopo {

const std::vector<Step>& measure_steps() {
  static const std::vector<Step> kSteps = [] {
    std::vector<Step> steps;
    for (const auto& of_kind :
         {cache_steps(), cache_traffic_steps(), change_point_steps(), partitioned_cache_steps(), scratchpad_steps(),
          memory_steps(), tlb_steps(), code_steps(), operand_steps(), cluster_steps(), unit_steps()}) {
      steps.insert(steps.end(), of_kind.begin(), of_kind.end());
    }
    return steps;
  }();
  return kSteps;
}

const Step* find_step(ElementKind kind, AttributeId attribute) {
  const std::vector<Step>& steps = measure_steps();
  const auto found =
      std::ranges::find_if(steps, [&](const Step& step) { return step.kind == kind && step.attribute == attribute; });
  return found == steps.end() ? nullptr : &*found;
}

}  // namespace gputopo
