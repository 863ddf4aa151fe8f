// A Device that simulates a MachineSpec: it checks programs, simulates them on all cores of the host and adds noise.
#pragma once

#include <cstdint>
#include <memory>

#include "device/sim/machine/machine.h"
#include "gputopo/device.h"

namespace gputopo::sim {

// Simulates on `threads` host threads (0: one for each core). The answers depend on the spec, the seed and the sequence
// of programs, not on the number of threads. Throws FormatError if the spec is impossible.
[[nodiscard]] std::unique_ptr<Device> make_sim_device(MachineSpec spec, std::uint64_t seed, unsigned threads = 0);

}  // namespace gputopo::sim
