// Accesses of whole warps on a simulated machine: bank passes of shared memory, atomics, and a queue at each level.
#pragma once

#include <string>

#include "device/sim/machine/machine.h"
#include "device/sim/memory/noise.h"

namespace gputopo::sim {

// The nearest cache that holds a working set, or memory.
struct Level {
  std::string name;
  double latency_cycles = 0;
  bool per_sm = false;
  std::uint32_t fetch_bytes = 0;  // the least that one lane fetches; its neighbors share it
};
[[nodiscard]] Level level_of(const MachineSpec& spec, Space space, std::uint64_t bytes, std::uint64_t carve_out_bytes);

// Throws NotSupportedError that names what the machine file lacks.
[[nodiscard]] AccessResult simulate_access(const MachineSpec& spec, const AccessProgram& program,
                                           std::uint64_t carve_out_bytes, double clock_mhz, Noise& noise);

// Passes over the banks that the `lanes` of a warp need, beyond the first pass of each request.
[[nodiscard]] std::int64_t bank_conflicts(const BankSpec& banks, const AccessProgram& program, std::uint32_t lanes);

}  // namespace gputopo::sim
