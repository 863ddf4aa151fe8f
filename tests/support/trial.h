// Discoveries of simulated machines, as truth tests run them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "device/sim/machine/machine.h"
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

// What reports say of some truths of random machines.
struct Tally {
  int right = 0;  // or close
  int wrong = 0;  // confidently
  int flagged = 0;
  int silent = 0;    // without a value
  std::string text;  // a line for each that is wrong
};
// Of so many machines of the wide prior, from the first seed on. `is_asked`: of which truths.
[[nodiscard]] Tally tally_wide_machines(std::uint64_t machines, const std::function<bool(const Truth&)>& is_asked);

}  // namespace gputopo::truth
