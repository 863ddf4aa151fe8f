// Finds links that carry less than their own hardware should (node/link_capacity.h), even if all links of their kind
// are slow.
#pragma once

#include <vector>

#include "fleet/population.h"

namespace gputopo::fleet {

struct CapacityShortfall {
  std::uint32_t gpu = 0;
  OutlierValue value;
};
struct CapacityJudgement {
  std::vector<CapacityShortfall> shortfalls;
  std::vector<std::uint32_t> gpus;  // that have a judged link, one entry for each link
};
[[nodiscard]] CapacityJudgement judge_capacities(const Store& store, const std::vector<Population>& populations);

}  // namespace gputopo::fleet
