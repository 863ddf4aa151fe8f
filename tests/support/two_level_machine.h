// A quiet GPU for tests of the simulator, with only an L1 of 16 KiB and an L2 of 1 MiB, both LRU.
#pragma once

#include "device/sim/machine/machine.h"

namespace gputopo::test {

inline constexpr double kL1Cycles = 30;
inline constexpr double kL2Cycles = 200;
inline constexpr double kMemoryCycles = 500;
inline constexpr std::uint64_t kL1Bytes = 16 << 10;
inline constexpr std::uint64_t kL2Bytes = 1 << 20;

inline sim::MachineSpec two_level_machine() {
  sim::MachineSpec machine;
  machine.info.vendor = "NVIDIA";
  machine.info.name = "test GPU";
  machine.info.sm_count = 4;
  machine.info.memory_bytes = 1ull << 36;
  machine.caches = {{.id = "l1", .size_bytes = kL1Bytes, .line_bytes = 128, .sector_bytes = 32, .ways = 4},
                    {.id = "l2",
                     .size_bytes = kL2Bytes,
                     .line_bytes = 128,
                     .sector_bytes = 32,
                     .ways = 16,
                     .scope = sim::Scope::kGpu}};
  const sim::PathStop l1{"l1", kL1Cycles};
  const sim::PathStop l2{"l2", kL2Cycles};
  machine.spaces[Space::kGlobal] = {{l1, l2}, kMemoryCycles};
  machine.spaces[Space::kGlobalBypassL1] = {{l2}, kMemoryCycles};
  return machine;
}

}  // namespace gputopo::test
