// What blocks that stay on an SM tell of what they are given, from plain numbers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "probe/bench/decision.h"
#include "stats/descriptive.h"

namespace gputopo::probe {

// ---- Registers ----

// Warps that an SM held of a kernel whose threads have so many registers.
struct RegisterSample {
  std::uint32_t registers = 0;
  std::uint32_t warps = 0;
  std::uint32_t warps_of_block = 4;  // that come and go together
};

struct RegisterFile {
  std::uint32_t unit = 0;     // registers that a warp is given are a multiple of it
  stats::Interval registers;  // of an SM: at least, at most
};

// Where the warps become fewer from one number of registers to the next, a unit is full. What all warps are given is
// the least that there is; for one block more there is not enough, unless it is not registers that bound the blocks:
// `most_blocks` and `most_warps` of an SM. Blocks have as many warps as there are schedulers, or times as many. Not
// decided where several units explain all that.
[[nodiscard]] Decision<RegisterFile> decide_registers(std::span<const RegisterSample> samples, std::uint32_t lanes,
                                                      std::uint32_t most_warps, std::uint32_t most_blocks);

// ---- Shared memory ----

// The most shared memory of a block of which an SM holds so many.
struct SharedSample {
  std::uint32_t blocks = 0;
  std::uint64_t bytes = 0;
};

// Bytes that a block is given are a multiple of it, with `reserved_bytes` that it does not ask for. Not decided where
// half of it would leave the same edges.
[[nodiscard]] Decision<std::uint64_t> decide_shared_unit(std::span<const SharedSample> samples,
                                                         std::uint64_t reserved_bytes);

// ---- Schedulers ----

struct SchedulerParameters {
  // Rates of warps that do not disturb each other are multiples of one warp's to this share. More: what comes near the
  // next whole number is taken for one.
  double steady = 0.04;
};

// What `warps[i]` warps did a clock, of an operation of which one warp alone keeps its scheduler busy.
struct WarpRates {
  std::vector<double> warps;
  std::vector<double> rates;
};

// Warps that do not disturb one another, at most; the same of each operation.
[[nodiscard]] Decision<std::uint32_t> decide_schedulers(std::span<const WarpRates> operations,
                                                        const SchedulerParameters& parameters = {});

// ---- Clocks ----

struct ClockParameters {
  // Clocks that agree are this near at one moment: a look at both clocks takes as long. More: clocks that differ little
  // are taken for one.
  double near_cycles = 500;
};

// What an SM's clock said when the timer that all share did.
struct ClockReading {
  std::uint32_t sm = 0;
  double timer_ns = 0;
  double clock_cycles = 0;
};

struct ClockGroups {
  std::vector<std::vector<std::uint32_t>> groups;  // of SMs, ascending, by their first
  std::vector<double> offsets_cycles;              // of each reading, from the first
};

// `cycles_per_ns`: at which the clocks run.
[[nodiscard]] ClockGroups clock_groups(std::span<const ClockReading> readings, double cycles_per_ns,
                                       const ClockParameters& parameters = {});

// ---- Branches ----

struct SidesParameters {
  // A further side that takes less than this share of its operations alone ran beside the others.
  double beside = 0.75;
  // What lies off a straight line by this share of its end is none. More: what is wrong passes.
  double straight = 0.1;
};

// Cycles of a round in which lanes part to so many sides.
struct SidesSample {
  double sides = 0;
  double cycles = 0;
};

struct SidesCost {
  double cycles = 0;  // of each further side, beyond its operations
  stats::Interval interval;
  bool interleave = false;  // sides take turns while they wait: a further one costs less than its operations
};

// `alone_cycles`: what the operations of a side take.
[[nodiscard]] Decision<SidesCost> decide_sides(std::span<const SidesSample> samples, double alone_cycles,
                                               const SidesParameters& parameters = {});

}  // namespace gputopo::probe
