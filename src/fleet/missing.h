// Finds GPUs and hosts that the fleet had and that are not in its newest runs.
#pragma once

#include <cstdint>
#include <vector>

#include "fleet/population.h"

namespace gputopo::fleet {

struct MissingGpu {
  std::uint32_t gpu = 0;  // index into Members::gpus
  OutlierValue value;     // says when it was last seen
};

// `groups` are those of groups_of(); one list for each. `now`, in seconds since 1970: later runs are ignored.
[[nodiscard]] std::vector<std::vector<MissingGpu>> missing_gpus(const Store& store, const std::vector<Members>& groups,
                                                                std::int64_t now);

}  // namespace gputopo::fleet
