// Checks that a machine is possible.
#pragma once

#include "device/sim/machine/machine.h"

namespace gputopo::sim {

// Throws FormatError that names the field as machine files spell it ("caches[0].line_bytes: 48 is not a power of two").
void check_machine(const MachineSpec& spec);

}  // namespace gputopo::sim
