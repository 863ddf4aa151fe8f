// Random simulated GPUs: the truth that the probes are held to. Nobody tuned a probe to one of them.
#pragma once

#include <cstdint>
#include <optional>

#include "device/sim/machine/machine.h"

namespace gputopo::truth {

// The machine of a seed. Draws: L1 of 1 KiB to 512 KiB; texture and read-only caches that share it, share one of their
// own, or are separate; on a tenth of the machines global loads that no L1 caches; on half of all local loads through
// L1, which go as global ones do on the others; 1 to 4 instances; constant L1 of 1 to 4 KiB and, on two machines of
// three, a constant L1.5 of four times that up to 24 KiB (half of what constant arrays can hold at most would be 32
// KiB: beyond it no footprint exceeds it twice); L2 of 128 KiB to 64 MiB in 1 or 2 partitions; lines of 32 to 256 B,
// sectors of 32 B up to the line; 1 to 64 ways and full; LRU, tree pseudo-LRU and random replacement; modulo, folded
// and mixed index; L1 and L2 that write through or back, allocate on stores or not, and drop what stores hit or not;
// jitter, outliers, drift and interference.
[[nodiscard]] sim::MachineSpec random_machine(std::uint64_t seed);

// The machine of a seed with the memory of AMD's GPUs. Draws: vL1 of 4 KiB to 64 KiB; scalar caches of 4 KiB to 32 KiB
// that 1 to 3 CUs share, in an order that nobody would guess; 1, 2 or 4 XCDs with an L2 of 256 KiB to 4 MiB each; on
// one machine of two an L3 of 4 to 12 times that. Lines, sectors, ways, replacement, index, write policies and noise as
// above.
[[nodiscard]] sim::MachineSpec random_amd_machine(std::uint64_t seed);

// Each of its caches has one partition, whatever it had.
void take_partitions(sim::MachineSpec& machine);

// So many SMs in no groups: each has its caches for itself.
void take_groups(sim::MachineSpec& machine, std::uint32_t sm_count);

// The cache of this id; throws std::invalid_argument.
[[nodiscard]] const sim::CacheSpec& cache_of(const sim::MachineSpec& machine, const std::string& id);
// How loads of a space go; nothing where the machine does not support them.
[[nodiscard]] std::optional<sim::SpaceSpec> space_of(const sim::MachineSpec& machine, Space space);
// Cache that serves the first level (or `depth`) of a space.
[[nodiscard]] const sim::CacheSpec* cache_at(const sim::MachineSpec& machine, Space space, std::size_t depth);

}  // namespace gputopo::truth
