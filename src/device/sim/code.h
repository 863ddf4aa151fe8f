// Instruction programs on a simulated machine.
#pragma once

#include "device/sim/hierarchy.h"
#include "device/sim/noise.h"

namespace gputopo::sim {

// `hierarchy` is of the machine, and starts with empty caches, as for every program. `seed` is of random replacement.
// The machine must have `code`, and constants where a step loads them.
[[nodiscard]] InstructionResult simulate_code(const CodeSpec& code, Hierarchy& hierarchy,
                                              const InstructionProgram& program, std::uint64_t carve_out_bytes,
                                              std::uint64_t seed, Noise& noise);

}  // namespace gputopo::sim
