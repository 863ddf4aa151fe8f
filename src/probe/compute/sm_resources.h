// What an SM holds at a time, and what its clocks say.
#pragma once

#include <optional>

#include "gputopo/model.h"
#include "probe/bench/lab.h"

namespace gputopo::probe {

// The most warps and blocks that were on one SM at one time, the same of all SMs. They throw Inconclusive where SMs
// differ, and what Lab throws.
[[nodiscard]] Attribute measure_resident_warps(Lab& lab);
[[nodiscard]] Attribute measure_resident_blocks(Lab& lab);

// Registers: of an SM, in bytes, and in what steps a warp is given them (of all of its lanes together).
struct RegisterFinding {
  Attribute file;
  Attribute unit;
};
// `schedulers`: of an SM, if known; blocks have as many warps, or times as many.
[[nodiscard]] RegisterFinding measure_registers(Lab& lab, std::optional<double> schedulers);

// Bytes: the steps in which a block is given shared memory.
[[nodiscard]] Attribute measure_shared_unit(Lab& lab);

// Warps that do not disturb one another.
[[nodiscard]] Attribute measure_schedulers(Lab& lab);

struct ClockFinding {
  Attribute step;        // cycles
  Attribute timer_step;  // nanoseconds
  Attribute groups;
};
[[nodiscard]] ClockFinding measure_clocks(Lab& lab);

}  // namespace gputopo::probe
