#include "kernel_model/roofline.h"

#include <algorithm>

namespace gputopo::kernel_model {

std::vector<Ceiling> roofline(std::vector<Ceiling> ceilings) {
  std::erase_if(ceilings, [](const Ceiling& ceiling) { return ceiling.work <= 0; });
  std::ranges::stable_sort(ceilings, std::ranges::greater{}, &Ceiling::seconds);
  return ceilings;
}

double intensity(const std::vector<Ceiling>& ceilings, const Ceiling& level) {
  double operations = 0;
  for (const Ceiling& ceiling : ceilings) {
    if (ceiling.unit == "FLOP") operations += ceiling.work;
  }
  return level.work > 0 ? operations / level.work : 0;
}

}  // namespace gputopo::kernel_model
