// Random simulated GPUs from a wide prior: what real and plausible GPUs are, and what is next to them. docs/accuracy.md
// says what is drawn. No probe is tuned to one of them, and nothing that is hard to measure is left out.
#pragma once

#include <cstdint>
#include <string_view>

#include "device/sim/machine/machine.h"

namespace gputopo::truth {

// How noisy a machine is. Quiet: jitter to 1 cycle, outliers to 0.05%, drift to 0.2%. Mid: to 2.5 cycles, 0.5%, 1%, and
// to 3% of the programs beside a neighbour. Harsh: to 5 cycles, 1.5%, 2% and 12%.
enum class Tier : std::uint8_t { kQuiet, kMid, kHarsh };
[[nodiscard]] std::string_view to_string(Tier tier);

// The seeds take turns.
[[nodiscard]] Tier tier_of(std::uint64_t seed);

// The machine of a seed.
[[nodiscard]] sim::MachineSpec wide_machine(std::uint64_t seed);

}  // namespace gputopo::truth
