// Discoveries of simulated machines, as truth tests run them.
#pragma once

#include <cstdint>
#include <vector>

#include "device/sim/machine.h"
#include "gputopo/discover.h"
#include "support/truths.h"

namespace gputopo::truth {

// A machine and what a discovery says of it.
struct Discovered {
  std::uint64_t seed = 0;
  sim::MachineSpec machine;
  Topology topology;
};

// On one thread, as the machines already run side by side, and without samples. `wanted`: what is asked for.
[[nodiscard]] Discovered discover_machine(sim::MachineSpec machine, std::uint64_t seed, DiscoverOptions wanted);

struct Trial {
  std::vector<Judged> values;
  double seconds = 0;  // that the discovery took
};

// Discovers of the machine what `truths` are about, on one thread.
[[nodiscard]] Trial try_machine(const sim::MachineSpec& machine, std::uint64_t seed, const std::vector<Truth>& truths);

}  // namespace gputopo::truth
