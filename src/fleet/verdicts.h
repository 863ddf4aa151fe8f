// Verdicts that `gputopo node` gave to the parts of a node: its GPUs and links are judged by what they should have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "fleet/population.h"

namespace gputopo::fleet {

struct Verdicts {
  std::vector<PartOfGpu> bad;
  std::vector<PartOfGpu> not_judged;
  std::vector<std::uint32_t> gpus;  // one entry for each link that is good or bad
};
// Verdicts of each GPU's latest run. If that measured no links, what an earlier run found bad or could not judge stays.
[[nodiscard]] Verdicts verdicts_of(const Store& store, const Members& members,
                                   const std::vector<Population>& populations);

}  // namespace gputopo::fleet
