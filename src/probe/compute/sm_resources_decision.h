// What an SM allocates to blocks that stay on it, and what its clocks show, from plain numbers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "probe/bench/decision.h"
#include "stats/descriptive.h"

namespace gputopo::probe {

// ---- Registers ----

// The warps that an SM held of a kernel with this many registers per thread.
struct RegisterSample {
  std::uint32_t registers = 0;
  std::uint32_t warps = 0;
  std::uint32_t warps_of_block = 4;  // which come and go together
};

struct RegisterFile {
  std::uint32_t unit = 0;     // registers of a warp are a multiple of it
  stats::Interval registers;  // of an SM: at least, at most
};

// If the number of warps falls from one number of registers to the next, a unit is full. The file has at least what
// all warps get, and less than one more block needs, unless `most_blocks` or `max_warps` of an SM limits the blocks.
// Blocks have as many warps as there are schedulers, or a multiple. Undecided if several units explain all samples.
[[nodiscard]] Decision<RegisterFile> decide_registers(std::span<const RegisterSample> samples, std::uint32_t lanes,
                                                      std::uint32_t max_warps, std::uint32_t most_blocks);

// ---- Shared memory ----

// The most shared memory of a block with which an SM holds `blocks` blocks.
struct SharedSample {
  std::uint32_t blocks = 0;
  std::uint64_t bytes = 0;
};

// The shared memory of a block, with `reserved_bytes` that it does not request, is a multiple of this unit. Undecided
// if half the unit would show the same edges.
[[nodiscard]] Decision<std::uint64_t> decide_shared_unit(std::span<const SharedSample> samples,
                                                         std::uint64_t reserved_bytes);

// ---- Schedulers ----

struct SchedulerParameters {
  // Rates of undisturbed warps are multiples of one warp's rate within this share. Larger values accept rates that
  // only come near a whole number.
  double steady = 0.04;
};

// Rates of `warps[i]` warps per clock, for an operation with which a single warp keeps its scheduler busy.
struct WarpRates {
  std::vector<double> warps;
  std::vector<double> rates;
};

// The most warps that do not slow each other down; all operations must agree.
[[nodiscard]] Decision<std::uint32_t> decide_schedulers(std::span<const WarpRates> operations,
                                                        const SchedulerParameters& parameters = {});

// ---- Clocks ----

struct ClockParameters {
  // Clocks that agree differ by less than this at one moment: reading clock and timer takes as long. Larger values
  // merge clocks that differ slightly.
  double near_cycles = 500;
};

// The clock of an SM at a time of the timer that all SMs share.
struct ClockReading {
  std::uint32_t sm = 0;
  double timer_ns = 0;
  double clock_cycles = 0;
};

struct ClockGroups {
  std::vector<std::vector<std::uint32_t>> groups;  // of SMs, ascending, ordered by first SM
  std::vector<double> offsets_cycles;              // of each reading from the first
};

// `cycles_per_ns`: speed of the clocks.
[[nodiscard]] ClockGroups clock_groups(std::span<const ClockReading> readings, double cycles_per_ns,
                                       const ClockParameters& parameters = {});

// ---- Branches ----

struct SidesParameters {
  // A further side that costs less than this share of its operations alone ran in parallel with the others.
  double beside = 0.75;
  // Largest deviation from a straight line, as share of its rise. Larger values accept wrong results.
  double straight = 0.1;
};

// Cycles of a round in which the lanes diverge to `sides` sides.
struct DivergenceSample {
  double sides = 0;
  double cycles = 0;
};

struct DivergenceCost {
  double cycles = 0;  // of each further side, beyond its operations
  stats::Interval interval;
  bool interleave = false;  // sides run while others wait: a further side costs less than its operations
};

// `alone_cycles`: the cycles of one side's operations.
[[nodiscard]] Decision<DivergenceCost> decide_divergence(std::span<const DivergenceSample> samples, double alone_cycles,
                                                         const SidesParameters& parameters = {});

}  // namespace gputopo::probe
