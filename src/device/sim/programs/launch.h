// Times of kernel launches on a simulated machine.
#pragma once

#include "device/sim/machine/machine.h"
#include "device/sim/memory/noise.h"

namespace gputopo::sim {

// Throws NotSupportedError for more bytes of arguments than the machine takes.
[[nodiscard]] LaunchResult simulate_launch(const MachineSpec& spec, const LaunchProgram& program, Noise& noise);

}  // namespace gputopo::sim
