// Programs: experiments as plain data. A probe writes them, a device runs them, and neither knows the other.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gputopo/space.h"

namespace gputopo {

// Order in which a chain visits the elements of an array. Every chain is one cycle through all elements.
enum class Order : std::uint8_t {
  kSequential,  // 0, 1, 2, ...
  kReversed,    // n-1, n-2, ... , 0
  kShuffled,    // a seeded random cycle (see chain_order())
};

[[nodiscard]] std::string_view to_string(Order order);

// An array of `bytes` with one element every `stride_bytes`. Each element holds two links at its start, one for each
// chain: chain 0 visits in `order`, chain 1 in `second_order`; both lie in the same kMinimumStrideBytes, so whatever
// chain is followed, the same sectors are touched. Element i sits at
//   i * stride_bytes + (2 * i >= element_count ? skew_bytes : 0) + (i * stagger_bytes) % stagger_window_bytes
// with skew_bytes < stride_bytes (line-size experiments move the upper half by half a stride, so that with stride twice
// the line both the even and the odd sets are used). stagger_bytes keeps elements that are whole pages apart from
// falling into the same sets of the caches.
struct ChaseArray {
  Space space = Space::kGlobal;
  std::uint64_t bytes = 0;
  std::uint64_t stride_bytes = 0;
  Order order = Order::kSequential;
  Order second_order = Order::kReversed;
  std::uint64_t seed = 1;  // of the shuffles
  std::uint64_t skew_bytes = 0;
  std::uint64_t stagger_bytes = 0;         // without kTouch steps
  std::uint64_t stagger_window_bytes = 1;  // a power of two; at most the stride
  // Set: this array is the same memory, elements and links as an earlier array of the program, seen through `space`.
  // Only the spaces that read plain device memory (global, global_bypass_l1, read_only, scalar) can alias one another.
  std::optional<std::uint32_t> alias_of;
  // Set: the chains visit these elements only, each once; `order` and `second_order` are then orders of this list (of
  // its positions). Without skew_bytes and kTouch steps.
  std::vector<std::uint32_t> elements;

  // Elements that a chain visits.
  [[nodiscard]] std::uint64_t chain_length() const { return elements.empty() ? element_count() : elements.size(); }
  [[nodiscard]] std::uint64_t element_count() const { return stride_bytes == 0 ? 0 : bytes / stride_bytes; }
  [[nodiscard]] std::uint64_t element_offset(std::uint64_t index) const {
    return index * stride_bytes + (2 * index >= element_count() ? skew_bytes : 0) +
           ((index * stagger_bytes) & (stagger_window_bytes - 1));
  }
  friend bool operator==(const ChaseArray&, const ChaseArray&) = default;
};

// Two 8-byte links fit in one element.
inline constexpr std::uint64_t kMinimumStrideBytes = 16;

// One thread: the `lane` of the `warp` of the program's one block, or of its block on the SM that is named.
struct ChaseActor {
  std::uint32_t warp = 0;
  std::uint32_t lane = 0;
  std::optional<std::uint32_t> sm;  // either all actors of a program name one or none does. Only with exclusive.
  friend bool operator==(const ChaseActor&, const ChaseActor&) = default;
};

enum class StepKind : std::uint8_t {
  kWarm,   // the actor follows the chain; only the total time is kept. Warm-up, and load-to-use latency by division.
  kTouch,  // every thread of the block (kTouchThreads of them) takes its share and each of `loads` elements of the
           // array from the `first` on, as they lie in memory, is loaded once, in no particular order; 0 loads: to its
           // end. `chain` is ignored. A warm-up of large arrays. Parts of an array without skew_bytes only.
  kTimed,  // every load is timed; the first timed_cap latencies are kept, and the histogram of all
  kCounted,  // every load is timed; only the histogram is kept
  kStore,   // the actor writes the first `loads` elements, in their order: to each the two links that it holds already,
            // which fill the first kMinimumStrideBytes of it. It loads nothing; only the total time is kept. For whole
            // arrays of the default orders in global and global_bypass_l1 (PTX st.global and st.global.cg); `chain` and
            // `first` are 0.
  kPaired,  // every element is loaded twice in a row, and both loads are timed; `loads` counts elements. The histogram
            // is of how much longer the first load took than the second, kPairedZeroCycles added: what only the first
            // has to wait for, as a translation, whatever the way to the data is. In global and global_bypass_l1.
};

[[nodiscard]] std::string_view to_string(StepKind kind);

[[nodiscard]] constexpr bool has_histogram(StepKind kind) {
  return kind == StepKind::kTimed || kind == StepKind::kCounted || kind == StepKind::kPaired;
}

inline constexpr std::uint32_t kPairedZeroCycles = 512;

// Device memory by ordinary loads and stores: kStore and kPaired steps are for these spaces.
[[nodiscard]] constexpr bool is_global(Space space) {
  return space == Space::kGlobal || space == Space::kGlobalBypassL1;
}

inline constexpr std::uint32_t kTouchThreads = 1024;

// One actor follows one chain of one array for `loads` loads, from the `first`-th element in the order of that chain
// (wrapping around). A barrier of all the program's threads, on whatever SM, stands between steps.
struct ChaseStep {
  StepKind kind = StepKind::kWarm;
  std::uint32_t actor = 0;
  std::uint32_t array = 0;
  std::uint64_t loads = 0;
  std::uint32_t chain = 0;  // 0: order, 1: second_order
  std::uint64_t first = 0;
  friend bool operator==(const ChaseStep&, const ChaseStep&) = default;
};

// Elements that a kTouch step loads of an array.
[[nodiscard]] constexpr std::uint64_t touched_elements(const ChaseArray& array, const ChaseStep& step) {
  return step.loads == 0 ? array.element_count() - step.first : step.loads;
}

// A pointer chase by a few actors, in one block on one SM or in one block on each SM that they name. Shared memory
// belongs to a block, so an array there may be chased by actors of one SM only.
struct ChaseProgram {
  std::vector<ChaseArray> arrays;
  std::vector<ChaseActor> actors;
  std::vector<ChaseStep> steps;
  // True: it must have the GPU to itself (it measures what SMs share). False: it may run beside others, one per SM.
  bool exclusive = false;
  std::optional<std::uint32_t> sm;  // the SM that must run it; any if not set. Only with exclusive, and not beside
                                    // actors that name theirs.
  std::uint64_t shared_carve_out_bytes = 0;  // wanted shared-memory carve-out; the device takes the next one that fits
  std::uint32_t timed_cap = 1024;            // latencies kept of each timed step
  friend bool operator==(const ChaseProgram&, const ChaseProgram&) = default;
};

enum class StreamOp : std::uint8_t { kRead, kWrite, kCopy };
[[nodiscard]] std::string_view to_string(StreamOp op);

// Bandwidth: all SMs stream over memory. Always runs alone.
struct StreamProgram {
  StreamOp op = StreamOp::kRead;
  Space space = Space::kGlobal;
  // Footprint. per_block: every block streams over its own `bytes`, again and again (L1, shared, constant); otherwise
  // all blocks share one array of `bytes` (L2, device memory). kCopy reads one array of `bytes` and writes another.
  std::uint64_t bytes = 0;
  bool per_block = false;
  // Of a kCopy in device memory by all blocks together: what is read is written to the same so many bytes again and
  // again, in whole tiles of the device. 0: to as many as are read.
  std::uint64_t write_span_bytes = 0;
  std::uint32_t blocks_per_sm = 1;
  std::uint32_t threads_per_block = 1024;
  std::uint32_t vector_bytes = 16;    // of one load or store of one thread: 4, 8 or 16
  std::uint32_t loads_in_flight = 4;  // independent accesses of a thread before the first use
  std::uint32_t repeats = 1;          // passes over the footprint
  std::uint64_t shared_carve_out_bytes = 0;
  friend bool operator==(const StreamProgram&, const StreamProgram&) = default;
};

// Straight-line code: arithmetic instructions that depend on none of the few before them, so that supplying them is
// what takes the time. A device holds one stretch of kMostCodeInstructions of it; steps run parts of that, and two
// parts that do not overlap are different code to every cache. Lengths count in blocks of kCodeBlockInstructions (the
// test that ends a part and its branch included), and a part can begin at every kCodeEntryInstructions. In front of the
// stretch lie kCodeLeadInstructions more, which a part that begins with the stretch can begin by: any kCodeLeadStep of
// them. They may run slower, and such a part ends within the first kMostCodeBehindLead.
inline constexpr std::uint32_t kCodeBlockInstructions = 32;
inline constexpr std::uint32_t kCodeEntryInstructions = 4096;
inline constexpr std::uint32_t kMostCodeInstructions = 24192;
inline constexpr std::uint32_t kMostCodeBlocks = kMostCodeInstructions / kCodeBlockInstructions;
inline constexpr std::uint32_t kCodeLeadInstructions = 128;
inline constexpr std::uint32_t kCodeLeadStep = 2;
inline constexpr std::uint32_t kMostCodeBehindLead = 7680;

// One warp.
struct CodeActor {
  std::optional<std::uint32_t> sm;  // that must run it; either all actors of a program name one or none does
  std::uint32_t warp = 0;
  friend bool operator==(const CodeActor&, const CodeActor&) = default;
};

enum class CodeStepKind : std::uint8_t {
  kRun,        // instructions [first, first + count) of the stretch
  kConstants,  // `count` bytes of constants are loaded from byte `first` of the bank on, one load every `stride_bytes`,
               // each after the one before has arrived
};
[[nodiscard]] std::string_view to_string(CodeStepKind kind);

// What `first`, `count` and `stride_bytes` of constants are multiples of.
inline constexpr std::uint32_t kConstantStepBytes = 64;

// An actor goes over code or constants `passes` times. The next step begins when it has ended, on whatever SM.
struct CodeStep {
  CodeStepKind kind = CodeStepKind::kRun;
  std::uint32_t actor = 0;
  std::uint32_t first = 0;
  std::uint32_t count = 0;
  std::uint32_t passes = 1;
  std::uint32_t stride_bytes = kConstantStepBytes;  // constants
  std::uint32_t lead = 0;                           // instructions in front of the stretch that a run begins with
  friend bool operator==(const CodeStep&, const CodeStep&) = default;
};

// Where instructions come from. Always runs alone. Without named SMs all actors are warps of one SM; actors may name
// two SMs at most.
struct InstructionProgram {
  std::vector<CodeActor> actors;
  std::vector<CodeStep> steps;
  friend bool operator==(const InstructionProgram&, const InstructionProgram&) = default;
};

enum class AccessOp : std::uint8_t {
  kLoad,       // each address is what the load before gave
  kStore,      // one after the other; the last is read back, so that the time is that of stores that have arrived
  kStoreLoad,  // a store and a load of the same word, which gives what the next one stores
  kAtomicAdd,  // each adds what the one before gave (to words that begin as zeros)
};
[[nodiscard]] std::string_view to_string(AccessOp op);

// All lanes of many warps at once, every warp with a chain of its own: bank conflicts, atomics, latency under load. One
// block of `warps` warps runs, on one SM or on each; a warp has as many lanes as the device says (warp_size). A lane
// accesses one word of access_word_bytes() at
//   (lane * lane_stride_bytes + warp * warp_stride_bytes + access * hop_bytes) mod bytes
// from the start of the working set, where warps are numbered through all blocks if the blocks share it. Always runs
// alone.
struct AccessProgram {
  AccessOp op = AccessOp::kLoad;
  Space space = Space::kShared;         // shared, global or global_bypass_l1; global is for loads only
  std::uint64_t bytes = 0;              // working set: of each block in shared memory, of all blocks together elsewhere
  std::uint32_t lane_stride_bytes = 0;  // 0: all lanes access one word
  std::uint32_t warp_stride_bytes = 0;
  std::uint64_t hop_bytes = 0;      // loads only
  std::uint32_t warps = 1;          // of each block
  bool every_sm = false;            // a block on each SM, all at the same time; else one block
  std::uint32_t warm_accesses = 0;  // of each warp before those that are timed, on the same chain
  std::uint32_t accesses = 0;       // of each warp that are timed
  std::uint64_t shared_carve_out_bytes = 0;
  friend bool operator==(const AccessProgram&, const AccessProgram&) = default;
};

inline constexpr std::uint32_t kMostAccessWarps = 32;
// Both counts of accesses are multiples of this.
inline constexpr std::uint32_t kAccessUnroll = 16;
// Of one lane. Loads from device memory are of 8 bytes, because what they load is an address.
[[nodiscard]] std::uint32_t access_word_bytes(const AccessProgram& program);

enum class ClusterOp : std::uint8_t {
  kChase,     // one thread of the block of rank `reader` chases through the shared memory of another block
  kRead,      // all warps of all blocks read the shared memory of another block each
  kBulkCopy,  // a thread of each block copies from device memory to its shared memory by asynchronous bulk copies (TMA)
};
[[nodiscard]] std::string_view to_string(ClusterOp op);

// Clusters of blocks that read one another's shared memory, and bulk copies. Every block has an SM of its own, the
// blocks of a cluster are ranked from 0. The block of rank r reads the shared memory of rank (r + hop) mod
// cluster_size. Always runs alone.
struct ClusterProgram {
  ClusterOp op = ClusterOp::kChase;
  std::uint32_t cluster_size = 1;  // blocks; 1 for bulk copies
  bool every_sm = false;           // as many clusters as there is room for at a time, all together; else one cluster
  std::uint32_t reader = 0;        // chase: rank
  std::uint32_t hop = 0;           // chase and read; 0: a block reads its own, by way of the cluster's window
  // Working set. Chase and read: of each block in shared memory. Bulk copies: of all blocks in device memory; each
  // block begins at its share of it and goes round all of it.
  std::uint64_t bytes = 0;
  std::uint32_t warps = 1;          // read: of each block; the others are a single thread
  std::uint32_t copy_bytes = 0;     // bulk copies
  std::uint32_t in_flight = 1;      // bulk copies: of a block under way at a time
  std::uint32_t warm_accesses = 0;  // before those that are timed: loads of a thread, copies of a block
  std::uint32_t accesses = 0;       // that are timed
  friend bool operator==(const ClusterProgram&, const ClusterProgram&) = default;
};

// Of one access: a load of one thread, of all threads of a block, a copy.
[[nodiscard]] std::uint64_t cluster_access_bytes(const ClusterProgram& program);

inline constexpr std::uint32_t kMostClusterSize = 16;
// Loads of a chase are this far apart, those of reads take so many bytes.
inline constexpr std::uint32_t kClusterHopBytes = 128;
inline constexpr std::uint32_t kClusterReadBytes = 16;
// A warp of the GPUs that have clusters.
inline constexpr std::uint32_t kClusterWarpLanes = 32;
inline constexpr std::uint32_t kMostCopiesInFlight = 32;
// Both counts of accesses are multiples of this; of bulk copies, of those in flight.
inline constexpr std::uint32_t kClusterUnroll = 16;

using Program = std::variant<ChaseProgram, StreamProgram, InstructionProgram, AccessProgram, ClusterProgram>;

// Histogram of load latencies: bin b counts raw latencies in [b*kHistogramBinCycles, (b+1)*kHistogramBinCycles); the
// last bin takes everything longer.
inline constexpr std::uint32_t kHistogramBins = 1024;
inline constexpr std::uint32_t kHistogramBinCycles = 2;

struct StepResult {
  std::uint64_t loads = 0;
  std::uint64_t total_cycles = 0;        // of the whole step
  std::vector<std::uint32_t> latencies;  // kTimed: raw cycles of each load, the timer's own cost included
  std::vector<std::uint32_t> histogram;  // where has_histogram(): kHistogramBins counts (trailing zeros may be cut)
  friend bool operator==(const StepResult&, const StepResult&) = default;
};

struct ChaseResult {
  std::vector<StepResult> steps;
  std::uint32_t sm = 0;  // where it ran; the first actor's where they name theirs
  friend bool operator==(const ChaseResult&, const ChaseResult&) = default;
};

struct StreamResult {
  std::uint64_t bytes_moved = 0;  // a copy counts what it reads and what it writes
  double seconds = 0;             // first start to last end over all SMs
  double cycles = 0;              // SM cycles of the slowest SM
  friend bool operator==(const StreamResult&, const StreamResult&) = default;
};

struct InstructionResult {
  std::vector<std::vector<std::uint64_t>> pass_cycles;  // by step: of each pass
  std::vector<std::uint32_t> sms;                       // where each actor ran
  double block_bytes = 0;        // of kCodeBlockInstructions as the device compiled them, control words included
  std::uint32_t loop_bytes = 0;  // of code that a pass runs beside them: at most this
  friend bool operator==(const InstructionResult&, const InstructionResult&) = default;
};

struct AccessResult {
  // Cycles of one access of a warp (of all its lanes), the timer's own cost taken off: the mean over a warp's accesses;
  // then the least, mean and most over the warps of all blocks.
  double least_cycles = 0;
  double mean_cycles = 0;
  double most_cycles = 0;
  double total_cycles = 0;   // from the first start to the last end of an SM's warps; mean over the SMs
  std::uint32_t blocks = 1;  // that ran: one for each SM
  friend bool operator==(const AccessResult&, const AccessResult&) = default;
};

struct ClusterResult {
  std::vector<std::uint32_t> sms;  // cluster by cluster, by rank: where each block ran
  // Cycles of one access, the timer's own cost taken off, by cluster: of its reader (chase), its first block (bulk
  // copies, from one copy's issue to the next's) or its slowest (read: from one load of a warp to its next).
  std::vector<double> cycles;
  std::uint64_t bytes_moved = 0;       // by all blocks, timed
  double seconds = 0;                  // from start to end of the slowest block
  std::uint32_t clusters_at_once = 0;  // of this size that fit, as the vendor's interface says; 0: it does not tell
  std::uint32_t largest_cluster = 0;   // that fits, as the vendor's interface says; 0: it does not tell
  friend bool operator==(const ClusterResult&, const ClusterResult&) = default;
};

// What a device answers to one program.
struct ProgramResult {
  std::variant<ChaseResult, StreamResult, InstructionResult, AccessResult, ClusterResult> data;
  double sm_clock_mhz = 0;                   // measured while it ran (SM cycles over wall time)
  std::uint64_t shared_carve_out_bytes = 0;  // the carve-out that it really ran with; 0 where there is none
  // False where the device knows that it had company: something else ran on its SMs meanwhile, or it had to be repeated
  // because its blocks met others. True where nothing is known of that.
  bool undisturbed = true;
  // When it was started, by the host's clock, since the device was opened; 0 where the device does not tell, as the
  // simulator.
  double started_seconds = 0;
  friend bool operator==(const ProgramResult&, const ProgramResult&) = default;
};

// The element indices in the order that `chain` (0 or 1) of `array` visits them: a permutation of 0..element_count-1,
// or of array.elements; the first `count` of it, where there are more. The same on every device, so that results can be
// compared load by load.
[[nodiscard]] std::vector<std::uint32_t> chain_order(const ChaseArray& array, std::uint32_t chain,
                                                     std::uint64_t count = ~std::uint64_t{0});

// Throws UsageError naming the field when a program is impossible (no arrays, stride under the minimum, an index out of
// range, a constant array over 64 KiB, ...). Devices call it before they run anything.
void validate(const Program& program);

// The text form, one program a line of key=value words, for --dump-program, recordings and tests; parse_program throws
// FormatError. parse_program(to_text(p)) == p.
[[nodiscard]] std::string to_text(const Program& program);
[[nodiscard]] Program parse_program(std::string_view text);

}  // namespace gputopo
