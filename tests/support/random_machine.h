// Random simulated GPUs with known truth, to test the probes. No probe is tuned to one of them.
#pragma once

#include <cstdint>
#include <optional>

#include "device/sim/machine/machine.h"

namespace gputopo::truth {

// Draws the machine of a seed: L1 of 1 KiB to 512 KiB; texture and read-only caches that share L1, share a cache of
// their own, or are separate; on a tenth of the machines, global loads that bypass L1; local loads through L1 on
// half, and on the path of global loads on the others; 1 to 4 instances; constant L1 of 1 to 4 KiB and, on two
// machines of three, a constant L1.5 of four times that up to 24 KiB (the limit for footprints of twice its size
// would be 32 KiB, half of the largest constant array); L2 of 128 KiB to 64 MiB in 1 or 2 partitions; lines of 32 to
// 256 B, sectors of 32 B up to the line; 1 to 64 ways or fully associative; LRU, tree pseudo-LRU and random
// replacement; modulo, folded and mixed index; L1 and L2 with write-through or write-back, with or without write
// allocate, that keep or drop lines on a store hit; jitter, outliers, drift and interference.
[[nodiscard]] sim::MachineSpec random_machine(std::uint64_t seed);

// Draws the machine of a seed with the memory of AMD GPUs: vL1 of 4 KiB to 64 KiB; scalar caches of 4 KiB to 32 KiB
// that 1 to 3 CUs share, in random order; 1, 2 or 4 XCDs with an L2 of 256 KiB to 4 MiB each; on half of the machines
// an L3 of 4 to 12 times that. Lines, sectors, ways, replacement, index, write policies and noise are drawn as above.
[[nodiscard]] sim::MachineSpec random_amd_machine(std::uint64_t seed);

// Gives every cache one partition.
void take_partitions(sim::MachineSpec& machine);

// Sets the number of SMs and removes their groups: each SM gets its own caches.
void take_groups(sim::MachineSpec& machine, std::uint32_t sm_count);

// Throws std::invalid_argument if there is no such cache.
[[nodiscard]] const sim::CacheSpec& cache_of(const sim::MachineSpec& machine, const std::string& id);
// The path of loads of a space, or nothing if the machine does not support them.
[[nodiscard]] std::optional<sim::SpaceSpec> space_of(const sim::MachineSpec& machine, Space space);
// The cache at the `depth`-th level of a space, 0 for the nearest; null if there is none.
[[nodiscard]] const sim::CacheSpec* cache_at(const sim::MachineSpec& machine, Space space, std::size_t depth);

}  // namespace gputopo::truth
