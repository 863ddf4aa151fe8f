// Where the parts of chase programs go: within a program, and within a launch of several. Numbers only, no GPU.
#pragma once

#include <cstdint>
#include <vector>

#include "device/launch/kernel_layout.h"
#include "device/launch/launch_gpu.h"
#include "gputopo/program.h"

namespace gputopo::launch {

// Records of a program begin at a multiple of this.
inline constexpr std::uint64_t kRecordAlignment = 128;

// A step on each of a program's SMs: when it may begin.
struct alignas(kRecordAlignment) Turn {
  std::uint32_t steps_ended = 0;
};

// What a program needs, before it is known where in memory it will be.
struct ChaseLayout {
  struct Array {
    std::uint64_t data_offset = 0;   // of its links (or of their image) from the start of the program's data
    std::uint64_t space_offset = 0;  // from the start of constant, shared or (in bytes of a warp) local memory
  };
  std::vector<Array> arrays;          // an alias lies where what it is an alias of does
  std::vector<ChaseArray> constants;  // all constant arrays: programs with equal ones share them in a launch
  std::uint64_t constant_bytes = 0;   // that they take of the bank
  std::uint64_t data_bytes = 0;
  std::uint64_t constant_offset = 0;  // of the image of the constant bank in the data
  std::uint64_t shared_image_offset = 0;
  std::uint64_t shared_image_bytes = 0;
  std::uint32_t shared_image_place = 0;  // in the block's dynamic shared memory
  std::uint64_t local_image_offset = 0;
  std::uint64_t local_bytes = 0;  // of a warp
  std::uint32_t latency_place = 0;
  std::uint64_t shared_bytes = 0;
  std::uint64_t record_bytes = 0;
  std::uint32_t threads = 32;
  std::vector<std::uint32_t> sms;  // of its slots, where its actors name theirs: each once, in their order
  double seconds = 0;              // that its steps take at most, as far as can be told

  [[nodiscard]] std::size_t slots() const { return sms.empty() ? 1 : sms.size(); }
  // Where the word lies in the records that counts the steps that have ended, and where those of the steps begin.
  [[nodiscard]] std::uint64_t turn_offset() const { return slots() * sizeof(BlockRecord); }
  [[nodiscard]] std::uint64_t steps_offset() const { return turn_offset() + (sms.empty() ? 0 : sizeof(Turn)); }
};

// Throws UsageError for a program that would take too long, NotSupportedError where constants do not fit.
[[nodiscard]] ChaseLayout lay_out(const ChaseProgram& program, std::uint32_t warp_size);

// Latencies that a step leaves behind, and how long all that it leaves is.
[[nodiscard]] std::uint32_t kept_latencies(const ChaseProgram& program, const ChaseStep& step);
[[nodiscard]] std::uint64_t step_record_bytes(const ChaseProgram& program, const ChaseStep& step);

// A program that waits to be run, and where its answer goes.
struct ChasePlan {
  const ChaseProgram* program = nullptr;
  ProgramResult* result = nullptr;
  ChaseLayout layout;
  std::uint64_t carve_out_bytes = 0;
  bool alone = false;                // no other program may run meanwhile
  std::uint64_t constant_place = 0;  // of its constants in the bank of the launch
};

// Takes the first program from `waiting` and those of the others that can run beside it, each on an SM of its own: of
// the same carve-out, and with constants that are the same or have room in one bank; at most `sm_count`.
[[nodiscard]] std::vector<ChasePlan*> take_batch(std::vector<ChasePlan*>& waiting, std::uint32_t sm_count);

// Where the parts of a batch lie, from where its memory begins: the programs' data, their records, then what the host
// stages.
struct BatchLayout {
  std::vector<std::uint64_t> data;     // by program
  std::vector<std::uint64_t> records;  // by program
  std::uint64_t records_begin = 0;
  std::uint64_t records_bytes = 0;
  std::uint64_t staged = 0;
};
[[nodiscard]] BatchLayout lay_out(const std::vector<ChasePlan*>& batch);

}  // namespace gputopo::launch
