// Steps that follow a chain load by load.
#pragma once

#include <cstdint>

#include "device/sim/memory/behaviour.h"
#include "device/sim/memory/chain.h"
#include "device/sim/memory/hierarchy.h"
#include "device/sim/memory/noise.h"

namespace gputopo::sim {

// Keeps the latencies of the first `kept` loads. `may_watch`: the hierarchy's checkpoints are free, and only this walk
// changes the caches, so a round that repeats the one before need not be simulated.
[[nodiscard]] StepBehaviour follow(const ChaseStep& step, const Path& path, const ChainAddresses& chain,
                                   std::uint64_t kept, bool may_watch, Hierarchy& hierarchy, Noise& noise);

}  // namespace gputopo::sim
