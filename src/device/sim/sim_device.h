// Answers programs from a MachineSpec: checks them, simulates them on all the host's cores and adds noise.
#pragma once

#include <cstdint>
#include <memory>

#include "device/sim/machine/machine.h"
#include "gputopo/device.h"

namespace gputopo::sim {

// A device that answers from the model, on `threads` threads of the host (0: one for each core). Deterministic for a
// given spec, seed and sequence of programs, whatever the threads. Throws FormatError if the spec is impossible.
[[nodiscard]] std::unique_ptr<Device> make_sim_device(MachineSpec spec, std::uint64_t seed, unsigned threads = 0);

}  // namespace gputopo::sim
