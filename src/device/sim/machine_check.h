// Checks that a machine is possible. Every refusal names the field as the machine file spells it.
#pragma once

#include "device/sim/machine/machine.h"

namespace gputopo::sim {

// Throws FormatError that names the field when the machine is impossible ("caches[0].line_bytes: 48 is not a power of
// two").
void check_machine(const MachineSpec& spec);

}  // namespace gputopo::sim
