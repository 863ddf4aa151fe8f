// What the host and the kernels of any vendor tell one another through device memory. The generators of kernels take
// their offsets from these structs (offsetof), so that there is one definition of each. Little-endian on both sides.
#pragma once

#include <cstdint>

#include "gputopo/program.h"

namespace gputopo::launch {

inline constexpr std::uint64_t kConstantBankBytes = 64 * 1024;
inline constexpr std::uint32_t kHistogramBytes = kHistogramBins * sizeof(std::uint32_t);
inline constexpr std::uint32_t kAnySm = 0xffffffffu;

// A link that no array holds; a chain that reads it has left its array. Null for links that are pointers.
inline constexpr std::uint32_t kNoLink = 0xffffffffu;

// A value that no 32-bit clock reading is compared equal to but once in 2^32. It comes from memory so that the compiler
// cannot know it, and a load that is predicated on "clock != never" cannot move above the clock reading.
inline constexpr std::uint32_t kNever = 0x9e3779b9u;

// How an array's links are written.
enum class LinkForm : std::uint32_t {
  kPointer = 0,  // 64-bit device address
  kOffset = 1,   // 32-bit byte offset
  kTexel = 2,    // 32-bit index of a 4-byte texel
  kLocal = 3,    // 32-bit byte offset in the local memory of a thread, of which a word lies in each kLocalStrideBytes
};
// What a byte of a thread's local memory is in bytes of its warp's.
inline constexpr std::uint64_t kLocalLanes = kLocalStrideBytes / sizeof(std::uint32_t);

// One array to be filled with links, for the kernel "fill".
struct FillTask {
  std::uint64_t address;    // of the array in device memory
  std::uint64_t link_base;  // what a link to the start of the array is, in bytes
  std::uint64_t stride_bytes;
  std::uint64_t skew_bytes;
  std::uint64_t stagger_bytes;
  std::uint64_t stagger_mask;
  std::uint64_t
      tables[2];        // addresses of what is visited of shuffled orders (u32 each), per chain; 0 for the other orders
  std::uint32_t count;  // elements
  std::uint32_t visited[2];   // per chain: links that are written; of fewer than all the last one leads to the first
  std::uint32_t reversed[2];  // per chain: 1 visits from the last element to the first
  LinkForm form;
};

// One program of a launch of the kernel "chase".
struct ChaseTask {
  std::uint64_t steps;           // address of step_count StepTasks
  std::uint64_t result;          // address of a BlockRecord
  std::uint64_t shared_image;    // address of what the block copies into its shared memory; 0 for nothing
  std::uint32_t shared_bytes;    // of that image
  std::uint32_t shared_offset;   // where it goes, from the start of the block's dynamic shared memory
  std::uint32_t latency_offset;  // where the latencies of a timed step are kept there
  std::uint32_t step_count;
  std::uint32_t wanted_sm;   // kAnySm or the only one that may run it
  std::uint32_t never;       // kNever
  std::uint32_t zero;        // 0, which the compiler must not know
  std::uint32_t dry_passes;  // 1: passes over the code of a loop, with its loads off, before the one that counts
  std::uint32_t
      patience_cycles;  // how long a block on the wrong SM waits, so that no other block takes its place there
  std::uint32_t slot;   // which of the program's SMs this is, where its actors name theirs
  std::uint64_t turn;   // address of a word: how many steps have ended; 0: all steps are this block's
  std::uint32_t longest_wait_cycles;  // for a step on another SM
  std::uint32_t local_count;          // elements of local arrays, whose links each thread writes
  std::uint64_t local_words;          // address of the places of those in its memory, in words (u32)
  std::uint64_t local_image;          // and of what it writes: kLocalStrideBytes a word, with a link of each chain
};

enum class StepCode : std::uint32_t { kWarm = 0, kTouch = 1, kTimed = 2, kStore = 3, kPaired = 4, kAtomic = 5 };
inline constexpr std::uint32_t kStepCodes = 8;  // a power of two

struct StepTask {
  std::uint64_t start;          // the first link to follow
  std::uint64_t base;           // touch and store: link to the start of the array, in bytes
  std::uint64_t texture;        // texture object, 0 for other spaces
  std::uint64_t stride_bytes;   // touch and store
  std::uint64_t skew_bytes;     // touch
  std::uint64_t stagger_bytes;  // touch
  std::uint64_t stagger_mask;   // touch
  std::uint64_t table;          // touch: address of the elements' numbers (u32 each) in their order; 0: as they lie
  std::uint64_t result;         // address of a StepRecord
  std::uint32_t code;           // StepCode + kStepCodes * Space
  std::uint32_t thread;         // that follows the chain
  std::uint32_t loads;          // touch: all elements; store: how many are written
  std::uint32_t cap;            // latencies to keep, 0 to kTimed's cap
  std::uint32_t slot;           // whose step it is, where actors name their SMs
  std::uint32_t elements;       // store: of the array, the last of which links to the first and back
};

// ChaseTask's error where a step on another SM did not end.
inline constexpr std::uint32_t kNoTurn = 0xfffffffeu;

// What a step leaves behind: this, then for a timed or paired step the histogram and `cap` latencies.
struct StepRecord {
  std::uint64_t cycles;
  std::uint64_t unused;
};

// When and where a block ran.
struct BlockRecord {
  std::uint64_t start_cycles;
  std::uint64_t end_cycles;
  std::uint64_t start_ns;  // of a clock that all SMs share
  std::uint64_t end_ns;
  std::uint32_t sm;
  std::uint32_t claimed;  // 1 once a block has taken the program
  std::uint32_t error;    // 0, or 1 + the index of the step whose chain left its array
  std::uint32_t sink;     // takes values that must look used
};

// One step of an instruction program. The kernel leaves the cycles of each pass (u64) at `result`, and may leave
// anything in the 8 bytes before.
struct CodeStepTask {
  std::uint64_t result;
  std::uint32_t kind;    // CodeStepKind
  std::uint32_t slot;    // which of the program's SMs
  std::uint32_t thread;  // of the block there
  std::uint32_t begin;   // run: in kCodeEntryInstructions; constants: offset in the bank
  std::uint32_t end;     // run: the block of instructions behind which a pass ends; constants: offset
  std::uint32_t stride;  // constants: bytes from load to load
  std::uint32_t passes;
  std::uint32_t lead;  // run: instructions in front of the stretch
};

inline constexpr std::uint32_t kMaxCodeSms = 2;

// Parameters of the kernel "code".
struct CodeParameters {
  std::uint64_t steps = 0;    // address of step_count CodeStepTasks
  std::uint64_t records = 0;  // address of a BlockRecord for each slot
  std::uint64_t turn = 0;     // address of a word: how many steps have ended
  std::uint32_t step_count = 0;
  std::uint32_t never = 0;                 // kNever
  std::uint32_t wanted_sm[kMaxCodeSms]{};  // of each slot; kAnySm: any block takes slot 0
  std::uint32_t patience_cycles = 0;       // how long a block on an SM that is not wanted stays
  std::uint32_t longest_wait_cycles = 0;   // for a step on the other SM
  std::uint32_t count = 0;                 // of each pass, in kernels of jumps and of operands
};

// Ids of SMs are below this where launches have more blocks than take part.
inline constexpr std::uint32_t kHardwareIds = 1u << 11;
inline constexpr std::uint64_t kClaimsBytes = (1 + kHardwareIds) * sizeof(std::uint32_t);

// Parameters of the kernels that run access programs.
struct AccessParameters {
  std::uint64_t working_set = 0;   // address in device memory; shared memory has none
  std::uint64_t bytes = 0;         // of the working set
  std::uint64_t hop_bytes = 0;     // from a word to the one that its link names, round the working set
  std::uint64_t records = 0;       // one BlockRecord a block
  std::uint64_t warp_records = 0;  // one WarpRecord a warp
  std::uint64_t arrived = 0;       // address of a word: how often a block has come to a common start
  // Where a launch has more blocks than take part, so that one runs on every SM: address of a word that numbers those
  // that do, and of a word for each hardware id that the first block there takes. 0: every block takes part.
  std::uint64_t claims = 0;
  std::uint32_t lane_stride = 0;
  std::uint32_t warp_stride = 0;
  std::uint32_t warm_rounds = 0;  // of kAccessUnroll accesses
  std::uint32_t rounds = 0;
  std::uint32_t never = 0;                // kNever
  std::uint32_t longest_wait_cycles = 0;  // for the other blocks
};

// What the chains of one operation begin with, and the operands that stay: see operations.def. Of a type of fewer bits
// the lower ones.
struct OperationOperands {
  std::uint64_t chain[4];  // $x and $y, kResultsKept
  std::uint64_t fixed[5];  // $a $b $c, and the others of $r $s
  std::uint64_t one;       // $i, 32 bits
};

// Parameters of the kernels that run operation programs.
struct OperationParameters {
  std::uint64_t operands = 0;      // address of two OperationOperands: of the operation, and of the one beside it
  std::uint64_t records = 0;       // one BlockRecord a block
  std::uint64_t warp_records = 0;  // one WarpRecord a warp
  std::uint64_t arrived = 0;       // address of a word: how often a block has come to a common start
  std::uint64_t claims = 0;        // as in AccessParameters
  std::uint32_t lane_mask = 0;     // 0, which the compiler must not know: operands are the same of all lanes
  std::uint32_t warm_rounds = 0;
  std::uint32_t rounds = 0;
  std::uint32_t never = 0;                // kNever
  std::uint32_t longest_wait_cycles = 0;  // for the other blocks
  std::uint32_t unused = 0;
};

// When the accesses of a warp began and ended, and what the readings of the clock around them cost.
struct WarpRecord {
  std::uint64_t start_cycles;
  std::uint64_t end_cycles;
  std::uint64_t timer_cycles;
};

// What the first thread of a block of an occupancy program saw of the clocks: the timer that all SMs share right after
// it moved, the SM's clock then, the smallest moves of both, INT64_MAX for none, and the bits that readings of the
// clock had together.
struct ClockRecord {
  std::uint64_t timer;
  std::uint64_t cycles;
  std::uint64_t timer_step;
  std::uint64_t clock_read;
  std::uint64_t clock_bits;
};

// Parameters of the kernels that run occupancy programs.
struct OccupancyParameters {
  std::uint64_t operands = 0;       // address of kOccupancyOperands words
  std::uint64_t records = 0;        // one BlockRecord a block
  std::uint64_t clock_records = 0;  // one ClockRecord a block
  std::uint32_t stay_cycles = 0;
  std::uint32_t never = 0;  // kNever
};
inline constexpr std::uint32_t kOccupancyOperands = 64;

// What an access kernel leaves in BlockRecord::error.
inline constexpr std::uint32_t kChainLost = 1;     // a link led out of the working set, or a copy did not arrive
inline constexpr std::uint32_t kStartedApart = 2;  // the other blocks did not come in time

}  // namespace gputopo::launch
