// The structs through which the host and any vendor's kernels communicate in device memory. The generators of kernels
// take offsets from these structs (offsetof), so each has one definition. Both sides are little-endian.
#pragma once

#include <cstdint>

#include "gputopo/program.h"

namespace gputopo::launch {

inline constexpr std::uint64_t kConstantBankBytes = 64 * 1024;
inline constexpr std::uint32_t kHistogramBytes = kHistogramBins * sizeof(std::uint32_t);
inline constexpr std::uint32_t kAnySm = 0xffffffffu;

// A link that no array holds: a chain that reads it has left its array. For links that are pointers it is null.
inline constexpr std::uint32_t kNoLink = 0xffffffffu;

// A value that a 32-bit clock reading equals only once in 2^32 times. It comes from memory, so the compiler cannot know
// it, and a load that is predicated on "clock != never" cannot move above the clock reading.
inline constexpr std::uint32_t kNever = 0x9e3779b9u;

// How the links of an array are written.
enum class LinkForm : std::uint32_t {
  kPointer = 0,  // 64-bit device address
  kOffset = 1,   // 32-bit byte offset
  kTexel = 2,    // 32-bit index of a 4-byte texel
  kLocal = 3,    // 32-bit byte offset in a thread's local memory, which has one word in each kLocalStrideBytes
};
// Bytes of a warp's local memory for each byte of a thread's.
inline constexpr std::uint64_t kLocalLanes = kLocalStrideBytes / sizeof(std::uint32_t);

// An array that the kernel "fill" fills with links.
struct FillTask {
  std::uint64_t address;    // address of the array in device memory
  std::uint64_t link_base;  // link to the start of the array, in bytes
  std::uint64_t stride_bytes;
  std::uint64_t skew_bytes;
  std::uint64_t stagger_bytes;
  std::uint64_t stagger_mask;
  std::uint64_t
      // Addresses of the visited part of shuffled orders (u32 each), by chain; 0 for other orders.
      tables[2];
  std::uint32_t count;        // elements
  std::uint32_t visited[2];   // by chain: links written; if not all, the last one leads to the first
  std::uint32_t reversed[2];  // by chain: 1 visits from the last element to the first
  LinkForm form;
};

// One program of a launch of the kernel "chase".
struct ChaseTask {
  std::uint64_t steps;           // address of step_count StepTasks
  std::uint64_t result;          // address of a BlockRecord
  std::uint64_t shared_image;    // address of what the block copies to its shared memory; 0 for nothing
  std::uint32_t shared_bytes;    // size of that image
  std::uint32_t shared_offset;   // destination in the block's dynamic shared memory
  std::uint32_t latency_offset;  // place of a timed step's latencies in it
  std::uint32_t step_count;
  std::uint32_t wanted_sm;   // the only SM that may run it, or kAnySm
  std::uint32_t never;       // kNever
  std::uint32_t zero;        // 0, but unknown to the compiler
  std::uint32_t dry_passes;  // 1: passes over a loop's code with its loads off, before the real one
  std::uint32_t
      // How long a block on the wrong SM waits, so that no other block takes its place there.
      patience_cycles;
  std::uint32_t slot;                 // index of this SM in the program, if actors name SMs
  std::uint64_t turn;                 // address of the count of ended steps; 0: this block does all steps
  std::uint32_t longest_wait_cycles;  // longest wait for a step on another SM
  std::uint32_t local_count;          // elements of local arrays, whose links each thread writes
  std::uint64_t local_words;          // address of their places in a thread's memory, in words (u32)
  std::uint64_t local_image;          // address of what it writes: kLocalStrideBytes a word, links of both chains
};

enum class StepCode : std::uint32_t { kWarm = 0, kTouch = 1, kTimed = 2, kStore = 3, kPaired = 4, kAtomic = 5 };
inline constexpr std::uint32_t kStepCodes = 8;  // a power of two

struct StepTask {
  std::uint64_t start;          // first link to follow
  std::uint64_t base;           // touch and store: link to the start of the array, in bytes
  std::uint64_t texture;        // texture object, 0 for other spaces
  std::uint64_t stride_bytes;   // touch and store
  std::uint64_t skew_bytes;     // touch
  std::uint64_t stagger_bytes;  // touch
  std::uint64_t stagger_mask;   // touch
  std::uint64_t table;          // touch: address of the element numbers (u32 each) in order; 0: memory order
  std::uint64_t result;         // address of a StepRecord
  std::uint32_t code;           // StepCode + kStepCodes * Space
  std::uint32_t thread;         // thread that follows the chain
  std::uint32_t loads;          // touch: all elements; store: number of elements written
  std::uint32_t cap;            // latencies to keep, 0 to kTimed's cap
  std::uint32_t slot;           // the step's SM, if actors name SMs
  std::uint32_t elements;       // store: of the array; the last one links to the first and back
};

// ChaseTask's error if a step on another SM did not end.
inline constexpr std::uint32_t kNoTurn = 0xfffffffeu;

// Head of a step's record; for a timed or paired step the histogram and `cap` latencies follow.
struct StepRecord {
  std::uint64_t cycles;
  std::uint64_t unused;
};

// When and where a block ran.
struct BlockRecord {
  std::uint64_t start_cycles;
  std::uint64_t end_cycles;
  std::uint64_t start_ns;  // reading of a clock that all SMs share
  std::uint64_t end_ns;
  std::uint32_t sm;
  std::uint32_t claimed;  // 1 once a block has taken the program
  std::uint32_t error;    // 0, or 1 + index of the step whose chain left its array
  std::uint32_t sink;     // takes values that must look used
};

// One step of an instruction program. The kernel writes the cycles of each pass (u64) to `result`, and may overwrite
// the 8 bytes before it.
struct CodeStepTask {
  std::uint64_t result;
  std::uint32_t kind;    // CodeStepKind
  std::uint32_t slot;    // which of the program's SMs
  std::uint32_t thread;  // thread of the block there
  std::uint32_t begin;   // run: in kCodeEntryInstructions; constants: offset in the bank
  std::uint32_t end;     // run: block of instructions that ends a pass; constants: offset
  std::uint32_t stride;  // constants: bytes from load to load
  std::uint32_t passes;
  std::uint32_t lead;  // run: instructions in front of the stretch
};

inline constexpr std::uint32_t kMaxCodeSms = 2;

// Parameters of the kernel "code".
struct CodeParameters {
  std::uint64_t steps = 0;    // address of step_count CodeStepTasks
  std::uint64_t records = 0;  // address of a BlockRecord for each slot
  std::uint64_t turn = 0;     // address of the count of ended steps
  std::uint32_t step_count = 0;
  std::uint32_t never = 0;                 // kNever
  std::uint32_t wanted_sm[kMaxCodeSms]{};  // SM of each slot; kAnySm: any block takes slot 0
  std::uint32_t patience_cycles = 0;       // how long a block on an unwanted SM stays
  std::uint32_t longest_wait_cycles = 0;   // longest wait for a step on the other SM
  std::uint32_t count = 0;                 // count of each pass, in kernels of jumps and of operands
};

// Upper bound of SM ids in launches with surplus blocks.
inline constexpr std::uint32_t kHardwareIds = 1u << 11;
inline constexpr std::uint64_t kClaimsBytes = (1 + kHardwareIds) * sizeof(std::uint32_t);

struct AccessParameters {
  std::uint64_t working_set = 0;   // address in device memory; unused for shared memory
  std::uint64_t bytes = 0;         // size of the working set
  std::uint64_t hop_bytes = 0;     // from a word to the one that it links to, modulo the working set
  std::uint64_t records = 0;       // one BlockRecord for each block
  std::uint64_t warp_records = 0;  // one WarpRecord for each warp
  std::uint64_t arrived = 0;       // address of the count of arrivals at a common start
  // Only in launches with surplus blocks, so that every SM gets one: address of a word that numbers the blocks that
  // take part, and of a word for each hardware id, which the first block there takes. 0: every block takes part.
  std::uint64_t claims = 0;
  std::uint32_t lane_stride = 0;
  std::uint32_t warp_stride = 0;
  std::uint32_t warm_rounds = 0;  // rounds of kAccessUnroll accesses
  std::uint32_t rounds = 0;
  std::uint32_t never = 0;                // kNever
  std::uint32_t longest_wait_cycles = 0;  // longest wait for the other blocks
};

// Initial values of an operation's chains, and its fixed operands: see operations.def. Shorter types use the low bits.
struct OperationOperands {
  std::uint64_t chain[4];  // $x and $y, kResultsKept
  std::uint64_t fixed[5];  // $a $b $c, and the others of $r $s
  std::uint64_t one;       // $i, 32 bits
};

struct OperationParameters {
  std::uint64_t operands = 0;      // address of two OperationOperands: for the operation and the one beside it
  std::uint64_t records = 0;       // one BlockRecord for each block
  std::uint64_t warp_records = 0;  // one WarpRecord for each warp
  std::uint64_t arrived = 0;       // address of the count of arrivals at a common start
  std::uint64_t claims = 0;        // as in AccessParameters
  std::uint32_t lane_mask = 0;     // 0, but unknown to the compiler: all lanes have the same operands
  std::uint32_t warm_rounds = 0;
  std::uint32_t rounds = 0;
  std::uint32_t never = 0;                // kNever
  std::uint32_t longest_wait_cycles = 0;  // longest wait for the other blocks
  std::uint32_t unused = 0;
};

// Start and end of a warp's accesses, and the cost of the clock readings around them.
struct WarpRecord {
  std::uint64_t start_cycles;
  std::uint64_t end_cycles;
  std::uint64_t timer_cycles;
};

// Readings of the first thread of a block of an occupancy program: the timer that all SMs share, right after it moved,
// the SM's clock then, the smallest steps of both (INT64_MAX for none), and all clock readings ORed together.
struct ClockRecord {
  std::uint64_t timer;
  std::uint64_t cycles;
  std::uint64_t timer_step;
  std::uint64_t clock_read;
  std::uint64_t clock_bits;
};

struct OccupancyParameters {
  std::uint64_t operands = 0;       // address of kOccupancyOperands words
  std::uint64_t records = 0;        // one BlockRecord for each block
  std::uint64_t clock_records = 0;  // one ClockRecord for each block
  std::uint32_t stay_cycles = 0;
  std::uint32_t never = 0;  // kNever
};
inline constexpr std::uint32_t kOccupancyOperands = 64;

// Values of BlockRecord::error that access kernels write.
inline constexpr std::uint32_t kChainLost = 1;     // a link led out of the working set, or a copy did not arrive
inline constexpr std::uint32_t kStartedApart = 2;  // the other blocks did not come in time

}  // namespace gputopo::launch
