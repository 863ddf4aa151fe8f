// Converts the records that the blocks of an occupancy program left into its answer. Pure numbers, no GPU.
#pragma once

#include <functional>
#include <vector>

#include "device/launch/kernel_layout.h"
#include "gputopo/program/occupancy.h"

namespace gputopo::launch {

// `sm_of` maps the id that kernels see to an SM number. Clock readings are left out if `clocks` is empty.
[[nodiscard]] OccupancyResult decode_occupancy(const std::vector<BlockRecord>& blocks,
                                               const std::vector<ClockRecord>& clocks,
                                               const std::function<std::uint32_t(std::uint32_t)>& sm_of);

}  // namespace gputopo::launch
