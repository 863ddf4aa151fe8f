// What only the CUDA kernels are told, beside what those of all vendors are (launch/kernel_layout.h).
#pragma once

#include "device/launch/kernel_layout.h"

namespace gputopo::cuda {

using namespace launch;

// What NVIDIA GPUs have: no scalar path that programs can name.
inline constexpr Space kCudaSpaces[] = {Space::kGlobal,  Space::kGlobalBypassL1, Space::kReadOnly,
                                        Space::kTexture, Space::kConstant,       Space::kShared};

// One step of an instruction program. The kernel leaves the cycles of each pass (u64) at `result`.
struct CodeStepTask {
  std::uint64_t result;
  std::uint32_t kind;    // CodeStepKind
  std::uint32_t slot;    // which of the program's SMs
  std::uint32_t thread;  // of the block there
  std::uint32_t entry;   // run: where to begin, in kCodeEntryInstructions
  std::uint32_t last;    // run: the block of instructions behind which a pass ends
  std::uint32_t bytes;   // constants
  std::uint32_t passes;
  std::uint32_t unused;
};

inline constexpr std::uint32_t kMostCodeSms = 2;

// Parameters of the kernel "code", in this order.
struct CodeParameters {
  std::uint64_t steps = 0;    // address of step_count CodeStepTasks
  std::uint64_t records = 0;  // address of a BlockRecord for each slot
  std::uint64_t turn = 0;     // address of a word: how many steps have ended
  std::uint32_t step_count = 0;
  std::uint32_t never = 0;                  // kNever
  std::uint32_t wanted_sm[kMostCodeSms]{};  // of each slot; kAnySm: any block takes slot 0
  std::uint32_t patience_cycles = 0;        // how long a block on an SM that is not wanted stays
  std::uint32_t longest_wait_cycles = 0;    // for a step on the other SM
};

// Parameters of the kernels that run access programs, in this order.
struct AccessParameters {
  std::uint64_t working_set = 0;   // address in device memory; shared memory has none
  std::uint64_t bytes = 0;         // of the working set
  std::uint64_t hop_bytes = 0;     // from a word to the one that its link names, round the working set
  std::uint64_t records = 0;       // one BlockRecord a block
  std::uint64_t warp_records = 0;  // one WarpRecord a warp
  std::uint64_t arrived = 0;       // address of a word: how often a block has come to a common start
  std::uint32_t lane_stride = 0;
  std::uint32_t warp_stride = 0;
  std::uint32_t warm_rounds = 0;  // of kAccessUnroll accesses
  std::uint32_t rounds = 0;
  std::uint32_t never = 0;                // kNever
  std::uint32_t longest_wait_cycles = 0;  // for the other blocks
};

// Parameters of the kernels that run cluster programs, in this order.
struct ClusterParameters {
  std::uint64_t working_set = 0;   // bulk copies: address in device memory
  std::uint64_t bytes = 0;         // of the working set
  std::uint64_t share_bytes = 0;   // bulk copies: how far apart blocks begin
  std::uint64_t records = 0;       // one BlockRecord a block
  std::uint64_t warp_records = 0;  // one WarpRecord a warp
  std::uint64_t arrived = 0;       // address of a word: how often a block has come to a common start
  std::uint32_t hop = 0;           // ranks
  std::uint32_t reader = 0;        // rank
  std::uint32_t copy_bytes = 0;
  std::uint32_t in_flight = 0;    // bulk copies
  std::uint32_t warm_rounds = 0;  // of kClusterUnroll loads; of one copy
  std::uint32_t rounds = 0;
  std::uint32_t never = 0;                // kNever
  std::uint32_t longest_wait_cycles = 0;  // for the other blocks
};

// The barriers of bulk copies lie in front of what is copied.
inline constexpr std::uint32_t kBulkBarrierBytes = 256;
static_assert(kMostCopiesInFlight * sizeof(std::uint64_t) <= kBulkBarrierBytes);

// When the accesses of a warp began and ended, and what the readings of the clock around them cost.
struct WarpRecord {
  std::uint64_t start_cycles;
  std::uint64_t end_cycles;
  std::uint64_t timer_cycles;
};

}  // namespace gputopo::cuda
