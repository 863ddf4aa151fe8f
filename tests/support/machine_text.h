// Simulated machines as machine files.
#pragma once

#include <string>

#include "device/sim/machine/machine.h"

namespace gputopo::truth {

// What parse_machine() reads back as the same machine; `comment` is for who reads the file.
[[nodiscard]] std::string machine_text(const sim::MachineSpec& machine, const std::string& comment);

}  // namespace gputopo::truth
