// Launches of many blocks: how many an SM holds at a time, and what its clocks show.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace gputopo {

struct OccupancyResult;

// Blocks that all stay for a while: the blocks on an SM at the same time show its occupancy. Always runs alone.
struct OccupancyProgram {
  static constexpr std::string_view kKind = "occupancy";
  using Result = OccupancyResult;

  std::uint32_t threads = 32;  // per block
  // Values that each thread keeps in registers beyond those of the kernel itself. On AMD GPUs: all registers of a
  // thread, at least 48. If not 0, a block has at most kMaxThreadsWithRegisters.
  std::uint32_t registers = 0;
  std::uint64_t shared_bytes = 0;   // dynamic, per block
  std::uint32_t blocks_per_sm = 1;  // launched blocks per SM
  std::uint32_t stay_cycles = 1;    // minimum duration of a block
  bool clocks = false;              // whether the result includes SM clocks
  friend bool operator==(const OccupancyProgram&, const OccupancyProgram&) = default;
};

inline constexpr std::uint32_t kMaxOccupancyRegisters = 224;
inline constexpr std::uint32_t kMaxThreadsWithRegisters = 256;
inline constexpr std::uint32_t kMaxOccupancyBlocks = 128;  // per SM
inline constexpr std::uint32_t kMaxStayCycles = 10'000'000;

struct OccupancyResult {
  std::uint32_t registers = 0;          // per thread, as the compiler reports; 0: unknown
  std::vector<std::uint32_t> sms;       // SMs that ran blocks, ascending
  std::vector<std::uint32_t> resident;  // per SM: the most blocks at a time
  // For the first block on each SM: the global timer just after it advanced and the SM clock then, in ns and cycles;
  // the smallest advance of the timer; the smallest advance of the clock between two readings; and the largest power
  // of two that divides all clock readings.
  std::vector<double> timer_ns;
  std::vector<double> clock_cycles;
  std::vector<double> timer_step_ns;
  std::vector<double> clock_read_cycles;
  std::vector<double> clock_step_cycles;
  friend bool operator==(const OccupancyResult&, const OccupancyResult&) = default;
};

}  // namespace gputopo
