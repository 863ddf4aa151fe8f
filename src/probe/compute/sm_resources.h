// The resources of an SM, and the behavior of its clocks.
#pragma once

#include <optional>

#include "gputopo/model.h"
#include "probe/bench/probe_runner.h"

namespace gputopo::probe {

// The most warps and blocks that one SM holds at a time. Both throw Inconclusive if too few SMs agree, and what
// ProbeRunner throws.
[[nodiscard]] Attribute measure_resident_warps(ProbeRunner& runner);
[[nodiscard]] Attribute measure_resident_blocks(ProbeRunner& runner);

// Registers of an SM in bytes, and the unit in which a warp gets them (all lanes together).
struct RegisterFinding {
  Attribute file;
  Attribute unit;
};
// `schedulers`: of an SM, if known; the warps of a block are this number or a multiple.
[[nodiscard]] RegisterFinding measure_registers(ProbeRunner& runner, std::optional<double> schedulers);

// Bytes of the unit in which a block gets shared memory.
[[nodiscard]] Attribute measure_shared_unit(ProbeRunner& runner);

// Number of warps that do not slow each other down.
[[nodiscard]] Attribute measure_schedulers(ProbeRunner& runner);

struct ClockFinding {
  Attribute step;              // cycles
  Attribute timer_resolution;  // nanoseconds
  Attribute groups;
};
[[nodiscard]] ClockFinding measure_clocks(ProbeRunner& runner);

}  // namespace gputopo::probe
