// The execution units of an SM: which operations share one.
#pragma once

#include "probe/lab.h"

namespace gputopo::probe {

// A name for each unit with its operations: "alu: lop3.b32 shl.b32". Throws NotSupportedError where the device runs no
// such programs.
[[nodiscard]] Attribute measure_pipes(Lab& lab);

}  // namespace gputopo::probe
