// What the blocks of an occupancy program left, as its answer. Numbers only, no GPU.
#pragma once

#include <functional>
#include <vector>

#include "device/launch/kernel_layout.h"
#include "gputopo/program/occupancy.h"

namespace gputopo::launch {

// `sm_of` numbers an SM by what the kernels call it. What clocks said is left out where `clocks` is empty.
[[nodiscard]] OccupancyResult decode_occupancy(const std::vector<BlockRecord>& blocks,
                                               const std::vector<ClockRecord>& clocks,
                                               const std::function<std::uint32_t(std::uint32_t)>& sm_of);

}  // namespace gputopo::launch
