// Offsets of the parts of chase programs, within a program and within a launch of several. Pure numbers, no GPU.
#pragma once

#include <cstdint>
#include <vector>

#include "device/launch/kernel_layout.h"
#include "device/launch/launch_gpu.h"
#include "gputopo/program.h"

namespace gputopo::launch {

inline constexpr std::uint64_t kRecordAlignment = 128;

// Tells the blocks on a program's SMs when a step may begin.
struct alignas(kRecordAlignment) Turn {
  std::uint32_t steps_ended = 0;
};

struct ChaseLayout {
  struct Array {
    std::uint64_t data_offset = 0;   // place of its links or their image in the program's data
    std::uint64_t space_offset = 0;  // place in constant, shared or local memory (there in bytes per warp)
  };
  std::vector<Array> arrays;          // an alias has the offsets of its original
  std::vector<ChaseArray> constants;  // all constant arrays; programs of a launch share equal ones
  std::uint64_t constant_bytes = 0;   // size in the bank
  std::uint64_t data_bytes = 0;
  std::uint64_t constant_offset = 0;  // place of the image of the constant bank in the data
  std::uint64_t shared_image_offset = 0;
  std::uint64_t shared_image_bytes = 0;
  std::uint32_t shared_image_place = 0;  // place in the block's dynamic shared memory
  std::uint64_t local_image_offset = 0;
  std::uint64_t local_bytes = 0;  // local memory per warp
  std::uint32_t latency_place = 0;
  std::uint64_t shared_bytes = 0;
  std::uint64_t record_bytes = 0;
  std::uint32_t threads = 32;
  std::vector<std::uint32_t> sms;  // SM of each slot, if actors name SMs: each once, in order
  double seconds = 0;              // upper estimate of the duration of its steps

  [[nodiscard]] std::size_t slots() const { return sms.empty() ? 1 : sms.size(); }
  // Offsets in the records of the word that counts the ended steps, and of the records of the steps.
  [[nodiscard]] std::uint64_t turn_offset() const { return slots() * sizeof(BlockRecord); }
  [[nodiscard]] std::uint64_t steps_offset() const { return turn_offset() + (sms.empty() ? 0 : sizeof(Turn)); }
};

// Throws UsageError for a program that would take too long, NotSupportedError if its constants do not fit.
[[nodiscard]] ChaseLayout lay_out(const ChaseProgram& program, std::uint32_t warp_size);

// Latencies that a step keeps, and the size of everything that it leaves.
[[nodiscard]] std::uint32_t kept_latencies(const ChaseProgram& program, const ChaseStep& step);
[[nodiscard]] std::uint64_t step_record_bytes(const ChaseProgram& program, const ChaseStep& step);

struct ChasePlan {
  const ChaseProgram* program = nullptr;
  ProgramResult* result = nullptr;
  ChaseLayout layout;
  std::uint64_t carve_out_bytes = 0;
  bool alone = false;                // no other program may run at the same time
  std::uint64_t constant_place = 0;  // place of its constants in the launch's bank
};

// Takes the first program from `waiting`, and at most `sm_count` - 1 others that can run beside it, each on its own SM:
// those with the same carve-out whose constants are equal or fit into one bank.
[[nodiscard]] std::vector<ChasePlan*> take_batch(std::vector<ChasePlan*>& waiting, std::uint32_t sm_count);

// Memory of a batch: the programs' data, their records, then what the host stages.
struct BatchLayout {
  std::vector<std::uint64_t> data;     // by program
  std::vector<std::uint64_t> records;  // by program
  std::uint64_t records_begin = 0;
  std::uint64_t records_bytes = 0;
  std::uint64_t staged = 0;
};
[[nodiscard]] BatchLayout lay_out(const std::vector<ChasePlan*>& batch);

}  // namespace gputopo::launch
