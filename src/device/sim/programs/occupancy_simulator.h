// The blocks that an SM of a simulated machine holds, and the readings of its clocks.
#pragma once

#include <cstdint>

#include "device/sim/machine/machine.h"

namespace gputopo::sim {

[[nodiscard]] OccupancyResult simulate_occupancy(const MachineSpec& spec, const DeviceInfo& info,
                                                 const OccupancyProgram& program, std::uint64_t carve_out_bytes);

}  // namespace gputopo::sim
