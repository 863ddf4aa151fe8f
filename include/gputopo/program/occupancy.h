// Launches of many blocks: how many an SM holds at a time, and what its clocks say.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace gputopo {

struct OccupancyResult;

// Blocks that all stay for a while: those that are on an SM at one time are what it has room for. Always runs alone.
struct OccupancyProgram {
  static constexpr std::string_view kKind = "occupancy";
  using Result = OccupancyResult;

  std::uint32_t threads = 32;  // of a block
  // Values that each thread keeps in registers meanwhile, beside what the kernel needs; on AMD GPUs all registers that
  // a thread is given, 48 at least. With some a block has at most kMaxThreadsWithRegisters.
  std::uint32_t registers = 0;
  std::uint64_t shared_bytes = 0;   // of a block, dynamic
  std::uint32_t blocks_per_sm = 1;  // of the launch, for each SM
  std::uint32_t stay_cycles = 1;    // of a block, at least
  bool clocks = false;              // whether the answer has what the clocks of SMs said
  friend bool operator==(const OccupancyProgram&, const OccupancyProgram&) = default;
};

inline constexpr std::uint32_t kMaxOccupancyRegisters = 224;
inline constexpr std::uint32_t kMaxThreadsWithRegisters = 256;
inline constexpr std::uint32_t kMaxOccupancyBlocks = 128;  // of an SM
inline constexpr std::uint32_t kMaxStayCycles = 10'000'000;

struct OccupancyResult {
  std::uint32_t registers = 0;          // that a thread has, as the compiler says; 0: it does not tell
  std::vector<std::uint32_t> sms;       // that ran blocks, ascending
  std::vector<std::uint32_t> resident;  // of each: the most blocks at one time
  // Of the first block on each SM: the global timer right after it moved, the SM's clock then, in cycles, the smallest
  // move of the timer that was seen, the least that the clock moved from one reading to the next, and the largest power
  // of two that all readings are multiples of.
  std::vector<double> timer_ns;
  std::vector<double> clock_cycles;
  std::vector<double> timer_step_ns;
  std::vector<double> clock_read_cycles;
  std::vector<double> clock_step_cycles;
  friend bool operator==(const OccupancyResult&, const OccupancyResult&) = default;
};

}  // namespace gputopo
