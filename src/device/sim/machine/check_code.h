// Checks how a machine supplies instructions, and constants that are their operands.
#pragma once

#include <bit>

#include "device/sim/machine/machine.h"

namespace gputopo::sim {

// Throws FormatError that names the field.
void check_code(const MachineSpec& spec, const CodeSpec& code);

}  // namespace gputopo::sim
