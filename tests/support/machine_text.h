// Writes simulated machines as machine files.
#pragma once

#include <string>

#include "device/sim/machine/machine.h"

namespace gputopo::truth {

// parse_machine() reads the text back as the same machine. `comment` is for human readers.
[[nodiscard]] std::string machine_text(const sim::MachineSpec& machine, const std::string& comment);

}  // namespace gputopo::truth
