// Reads machine files: JSON whose keys are the field names of MachineSpec. Any value may be wrapped as
// {"value": X, "source": "where it is from", "guess": true}.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "device/sim/machine/machine.h"
#include "gputopo/device.h"

namespace gputopo::sim {

// Parses a machine file and checks it. Throws FormatError that names the file's field ("caches[0].line_bytes: 48 is not
// a power of two").
[[nodiscard]] MachineSpec parse_machine(const std::string& json_text);

// The text of a built-in machine (machines/NAME.json, embedded in the binary); empty optional when there is none.
[[nodiscard]] std::optional<std::string> builtin_machine(const std::string& name);
[[nodiscard]] std::vector<std::string> builtin_machine_names();  // sorted
// MachineSpec::info of a built-in machine, in a tenth of the time that reading all of it takes.
[[nodiscard]] std::optional<DeviceInfo> builtin_machine_info(const std::string& name);

}  // namespace gputopo::sim
