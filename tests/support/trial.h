// Runs discoveries of simulated machines for truth tests.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "device/sim/machine/machine.h"
#include "gputopo/discover.h"
#include "support/truths.h"

namespace gputopo::truth {

// A machine and the report of its discovery.
struct Discovered {
  std::uint64_t seed = 0;
  sim::MachineSpec machine;
  Topology topology;
};

// Runs on one thread, because the machines already run in parallel, and keeps no samples. `wanted`: the options.
[[nodiscard]] Discovered discover_machine(sim::MachineSpec machine, std::uint64_t seed, DiscoverOptions wanted);

struct Trial {
  std::vector<Judged> values;
  double seconds = 0;  // CPU time of the discovery
};

// Discovers only the elements and attributes of `truths`, on one thread.
[[nodiscard]] Trial try_machine(const sim::MachineSpec& machine, std::uint64_t seed, const std::vector<Truth>& truths);

// Counts of verdicts on some truths of random machines.
struct Tally {
  int right = 0;  // or close
  int wrong = 0;  // confidently
  int flagged = 0;
  int silent = 0;    // without a value
  std::string text;  // one line for each wrong value
};
// Judges machines of the wide prior, from the first seed on. `is_asked` selects the truths.
[[nodiscard]] Tally tally_wide_machines(std::uint64_t machines, const std::function<bool(const Truth&)>& is_asked);

}  // namespace gputopo::truth
