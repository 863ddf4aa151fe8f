// Finds GPUs and hosts that the fleet had and that its newest measurements lack.
#pragma once

#include <cstdint>
#include <vector>

#include "fleet/population.h"

namespace gputopo::fleet {

struct Missing {
  std::vector<PartOfGpu> bad;         // the text says when the GPU was last seen
  std::vector<PartOfGpu> not_judged;  // whose newest run is unknown, or that may be missing
};

// `groups` are those of groups_of(); one result for each. `now`, in seconds since 1970: later runs are ignored.
[[nodiscard]] std::vector<Missing> missing_gpus(const Store& store, const std::vector<Members>& groups,
                                                std::int64_t now);

}  // namespace gputopo::fleet
