// Reads machine files: JSON whose keys are the field names of MachineSpec. Any value may be wrapped as {"value": X,
// "source": "where it is from", "guess": true}.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "device/sim/machine/machine.h"
#include "gputopo/device.h"

namespace gputopo::sim {

// Parses and checks a machine file. Throws FormatError that names the field, as check_machine() does.
[[nodiscard]] MachineSpec parse_machine(const std::string& json_text);

// Returns the text of a built-in machine (machines/NAME.json, embedded in the binary), or nothing for an unknown name.
[[nodiscard]] std::optional<std::string> builtin_machine(const std::string& name);
[[nodiscard]] std::vector<std::string> builtin_machine_names();  // sorted
// Returns MachineSpec::info of a built-in machine, in a tenth of the time that parsing the whole file takes.
[[nodiscard]] std::optional<DeviceInfo> builtin_machine_info(const std::string& name);

}  // namespace gputopo::sim
