// Pointer chases: most measurements use them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "gputopo/space.h"

namespace gputopo {

struct ChaseResult;

// The order in which a chain visits the elements of an array. Every chain is one cycle through all elements.
enum class Order : std::uint8_t {
  kSequential,  // 0, 1, 2, ...
  kReversed,    // n-1, n-2, ... , 0
  kShuffled,    // a seeded random cycle (see chain_order())
};

[[nodiscard]] std::string_view to_string(Order order);

// An array of `bytes` with one element every `stride_bytes`. Each element starts with two links, one for each chain:
// chain 0 visits in `order`, chain 1 in `second_order`. Both links lie in the same kMinimumStrideBytes, so both chains
// touch the same sectors. Element i is at
//   i * stride_bytes + (2 * i >= element_count ? skew_bytes : 0) + (i * stagger_bytes) % stagger_window_bytes
// with skew_bytes < stride_bytes. Line-size experiments skew the upper half by half a stride, so that a stride of two
// lines uses even and odd sets. stagger_bytes keeps elements that are whole pages apart out of the same sets.
struct ChaseArray {
  Space space = Space::kGlobal;
  std::uint64_t bytes = 0;
  std::uint64_t stride_bytes = 0;
  Order order = Order::kSequential;
  Order second_order = Order::kReversed;
  std::uint64_t seed = 1;  // for shuffled orders
  std::uint64_t skew_bytes = 0;
  std::uint64_t stagger_bytes = 0;
  std::uint64_t stagger_window_bytes = 1;  // a power of two, at most the stride
  // Set: this array is the same memory, elements and links as an earlier array of the program, accessed through
  // `space`. Only spaces that read plain device memory (global, global_bypass_l1, read_only, scalar) can be aliases.
  std::optional<std::uint32_t> alias_of;
  // Set: the chains visit only these elements, each once. `order` and `second_order` then are orders of positions in
  // this list. Not allowed with skew_bytes or kTouch steps.
  std::vector<std::uint32_t> elements;

  // Number of elements that a chain visits.
  [[nodiscard]] std::uint64_t chain_length() const { return elements.empty() ? element_count() : elements.size(); }
  [[nodiscard]] std::uint64_t element_count() const { return stride_bytes == 0 ? 0 : bytes / stride_bytes; }
  [[nodiscard]] std::uint64_t element_offset(std::uint64_t index) const {
    return index * stride_bytes + (2 * index >= element_count() ? skew_bytes : 0) +
           ((index * stagger_bytes) & (stagger_window_bytes - 1));
  }
  friend bool operator==(const ChaseArray&, const ChaseArray&) = default;
};

// Two 8-byte links fit into one element.
inline constexpr std::uint64_t kMinimumStrideBytes = 16;

// Local memory. The hardware places word w of the 32 threads of a warp in 128 consecutive bytes, and word w + 1 in the
// next 128, so a thread reaches one word of each 128 bytes. Array sizes here are bytes as caches see them, for a whole
// warp: strides are multiples of 128, and a thread has a 32nd of `bytes`. Each warp has its own array, and one warp on
// one SM walks it. In the lane pair (2k, 2k + 1) of an actor, the even lane walks chain 0 and the odd lane chain 1,
// each over its own words of the same lines. The threads of the block write the links before the first step, so lines
// may already be in any cache. Not allowed: skew, stagger, aliases, and kTouch and kTouchChain (other threads).
inline constexpr std::uint64_t kLocalStrideBytes = 128;
// For all local arrays of a program. Drivers allocate this for every possible resident warp: 8 GiB on large GPUs.
inline constexpr std::uint64_t kMaxLocalBytes = 1u << 20;

// The stride in a space is a multiple of this (local memory) or at least this (other spaces).
[[nodiscard]] constexpr std::uint64_t least_stride_bytes(Space space) {
  return space == Space::kLocal ? kLocalStrideBytes : kMinimumStrideBytes;
}

// One thread: lane `lane` of warp `warp`, in the program's only block, or in its block on SM `sm`.
struct ChaseActor {
  std::uint32_t warp = 0;
  std::uint32_t lane = 0;
  std::optional<std::uint32_t> sm;  // all actors of a program name an SM, or none does; only with exclusive
  friend bool operator==(const ChaseActor&, const ChaseActor&) = default;
};

enum class StepKind : std::uint8_t {
  kWarm,   // the actor follows the chain; only the total time is kept. For warm-up, and load-to-use latency by division
  kTouch,  // kTouchThreads threads of the block together load each of `loads` elements once, in memory order from
           // `first` on (0 loads: to the end) but otherwise unordered. Ignores `chain`. Warms up large arrays. A part
           // of an array must have no skew_bytes; a staggered array must start at its first element
  kTimed,  // every load is timed; keeps the first timed_cap latencies and the histogram of all
  kCounted,  // every load is timed; keeps only the histogram
  kStore,    // the actor writes the first `loads` elements in order: to each the two links that it already has, in its
             // first kMinimumStrideBytes. Loads nothing; keeps only the total time. For whole arrays in default orders,
             // in global and global_bypass_l1 (PTX st.global and st.global.cg); `chain` and `first` are 0
  kPaired,   // every element is loaded twice in a row, and both loads are timed; `loads` counts elements. The histogram
             // has the first latency minus the second plus kPairedZeroCycles: waits of the first load only, such as
             // translation, for any path to the data. In global and global_bypass_l1
  kAtomic,   // as kTimed, but reads each link by an atomic addition of 0, which runs at the home of the line, even if
             // there are copies. In global_bypass_l1
  kTouchChain,  // as kTouch, for `loads` elements of a chain from `first` on: thread t takes the t-th of every
                // kTouchThreads, so a load overtakes about that many others. Faster than kWarm by that factor if loads
                // are slow. For listed elements or shuffled orders, without skew
};

[[nodiscard]] std::string_view to_string(StepKind kind);

[[nodiscard]] constexpr bool has_histogram(StepKind kind) {
  return kind == StepKind::kTimed || kind == StepKind::kCounted || kind == StepKind::kPaired ||
         kind == StepKind::kAtomic;
}

[[nodiscard]] constexpr bool keeps_latencies(StepKind kind) {
  return kind == StepKind::kTimed || kind == StepKind::kAtomic;
}

inline constexpr std::uint32_t kPairedZeroCycles = 512;

inline constexpr std::uint32_t kTouchThreads = 1024;

// One actor follows one chain of one array for `loads` loads, from element `first` of the chain's order (wrapping
// around). Between steps, all threads of the program meet at a barrier, across SMs.
struct ChaseStep {
  StepKind kind = StepKind::kWarm;
  std::uint32_t actor = 0;
  std::uint32_t array = 0;
  std::uint64_t loads = 0;
  std::uint32_t chain = 0;  // 0: order, 1: second_order
  std::uint64_t first = 0;
  friend bool operator==(const ChaseStep&, const ChaseStep&) = default;
};

// Whether all threads of the block take part.
[[nodiscard]] constexpr bool is_touch(StepKind kind) {
  return kind == StepKind::kTouch || kind == StepKind::kTouchChain;
}

// The number of elements that a kTouch step loads.
[[nodiscard]] constexpr std::uint64_t touched_elements(const ChaseArray& array, const ChaseStep& step) {
  return step.loads == 0 ? array.element_count() - step.first : step.loads;
}

// A pointer chase by a few actors, in one block on one SM, or in one block on each named SM. Shared memory belongs to
// a block, so only actors of one SM may chase an array there.
struct ChaseProgram {
  static constexpr std::string_view kKind = "chase";
  using Result = ChaseResult;

  std::vector<ChaseArray> arrays;
  std::vector<ChaseActor> actors;
  std::vector<ChaseStep> steps;
  // True: the program must run alone (it measures what SMs share). False: it may run beside others, one per SM.
  bool exclusive = false;
  // The SM that must run the program; unset: any. Only with exclusive, and only if actors name none.
  std::optional<std::uint32_t> sm;
  std::uint64_t shared_carve_out_bytes = 0;  // requested carve-out; the device takes the next one that fits
  std::uint32_t timed_cap = 1024;            // latencies kept per timed step
  // The most that L2 should fetch from memory per miss: 32, 64 or 128; drivers take the next value that their GPU has.
  // 0: the current limit. Only with exclusive.
  std::uint32_t l2_fetch_bytes = 0;
  friend bool operator==(const ChaseProgram&, const ChaseProgram&) = default;
};

// Histogram of load latencies: bin b counts raw latencies in [b*kHistogramBinCycles, (b+1)*kHistogramBinCycles). The
// last bin also counts everything longer.
inline constexpr std::uint32_t kHistogramBins = 1024;
inline constexpr std::uint32_t kHistogramBinCycles = 2;

struct StepResult {
  std::uint64_t loads = 0;
  std::uint64_t total_cycles = 0;        // for the whole step
  std::vector<std::uint32_t> latencies;  // if keeps_latencies(): raw cycles per load, with the timer cost
  std::vector<std::uint32_t> histogram;  // if has_histogram(): kHistogramBins counts (trailing zeros may be cut)
  friend bool operator==(const StepResult&, const StepResult&) = default;
};

struct ChaseResult {
  std::vector<StepResult> steps;
  std::uint32_t sm = 0;  // the SM that ran it; that of the first actor if actors name SMs
  friend bool operator==(const ChaseResult&, const ChaseResult&) = default;
};

// Element indices in the order of chain `chain` (0 or 1): a permutation of 0..element_count-1, or of array.elements,
// or its first `count` entries. It is the same on every device, so that results can be compared load by load.
[[nodiscard]] std::vector<std::uint32_t> chain_order(const ChaseArray& array, std::uint32_t chain,
                                                     std::uint64_t count = ~std::uint64_t{0});

}  // namespace gputopo
