// Checks how a machine fetches instructions, and constants that are operands of instructions.
#pragma once

#include <bit>

#include "device/sim/machine/machine.h"

namespace gputopo::sim {

// Throws FormatError that names the field.
void check_code(const MachineSpec& spec, const CodeSpec& code);

}  // namespace gputopo::sim
