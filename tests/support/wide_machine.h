// Random simulated GPUs from a wide prior: real and plausible GPUs and those close to them. docs/accuracy.md
// describes the draws. No probe is tuned to one of them, and nothing that is hard to measure is left out.
#pragma once

#include <cstdint>
#include <string_view>

#include "device/sim/machine/machine.h"

namespace gputopo::truth {

// How noisy a machine is. Quiet: jitter up to 1 cycle, outliers up to 0.05%, drift up to 0.2%. Mid: up to 2.5 cycles,
// 0.5% and 1%, with a neighbor beside up to 3% of the programs. Harsh: up to 5 cycles, 1.5%, 2% and 12%.
enum class Tier : std::uint8_t { kQuiet, kMid, kHarsh };
[[nodiscard]] std::string_view to_string(Tier tier);

// Consecutive seeds cycle through the tiers.
[[nodiscard]] Tier tier_of(std::uint64_t seed);

[[nodiscard]] sim::MachineSpec wide_machine(std::uint64_t seed);

// The same machine, but most have something that fooled gputopo before: a first cache of less than 1 KiB, an L3 that
// fetches more than L2, two caches behind L1, memory that is 5 to 15% slower than the last cache.
[[nodiscard]] sim::MachineSpec extended_machine(std::uint64_t seed);

}  // namespace gputopo::truth
