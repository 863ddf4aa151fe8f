// Instruction programs on a simulated machine.
#pragma once

#include "device/sim/machine.h"
#include "device/sim/noise.h"

namespace gputopo::sim {

// Starts with empty caches, as every program does. `seed` is of random replacement. The machine must have `code`, and
// constants where a step loads them.
[[nodiscard]] InstructionResult simulate_code(const MachineSpec& spec, const InstructionProgram& program,
                                              std::uint64_t carve_out_bytes, std::uint64_t seed, Noise& noise);

}  // namespace gputopo::sim
