// Pointer chases: most of what is measured.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "gputopo/space.h"

namespace gputopo {

struct ChaseResult;

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
  std::uint64_t stagger_bytes = 0;
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

// Local memory. The hardware lays it out so that the words w of the 32 threads of a warp lie in 128 bytes in a row, and
// the words w + 1 in the next 128: one thread reaches one word of each. So arrays there are told in bytes as caches see
// them, of a whole warp, the stride is a multiple of these 128, and of `bytes` a thread has the 32nd part. Each warp
// has an array of its own: one warp, on one SM, walks it. Of the two lanes 2k and 2k + 1 that an actor's lane is one
// of, the even one walks chain 0 and the odd one chain 1, each over its own words of the same lines. The links are
// written by the threads of the block before the first step, so that an array's lines may be in any cache when that
// begins. Arrays without skew, stagger and aliases; no kTouch and kTouchChain steps, which are those of other threads.
inline constexpr std::uint64_t kLocalStrideBytes = 128;
// Of all local arrays of a program: drivers keep as much for every warp that a GPU can run at a time, 8 GiB on large
// ones.
inline constexpr std::uint64_t kMaxLocalBytes = 1u << 20;

// What strides in a space are a multiple of, or at least as long.
[[nodiscard]] constexpr std::uint64_t least_stride_bytes(Space space) {
  return space == Space::kLocal ? kLocalStrideBytes : kMinimumStrideBytes;
}

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
           // end. `chain` is ignored. A warm-up of large arrays. Parts of an array without skew_bytes only, and
           // of a staggered one from the first element on.
  kTimed,  // every load is timed; the first timed_cap latencies are kept, and the histogram of all
  kCounted,  // every load is timed; only the histogram is kept
  kStore,   // the actor writes the first `loads` elements, in their order: to each the two links that it holds already,
            // which fill the first kMinimumStrideBytes of it. It loads nothing; only the total time is kept. For whole
            // arrays of the default orders in global and global_bypass_l1 (PTX st.global and st.global.cg); `chain` and
            // `first` are 0.
  kPaired,  // every element is loaded twice in a row, and both loads are timed; `loads` counts elements. The histogram
            // is of how much longer the first load took than the second, kPairedZeroCycles added: what only the first
            // has to wait for, as a translation, whatever the way to the data is. In global and global_bypass_l1.
  kAtomic,  // as kTimed, but each link is read by an atomic addition of zero, which is performed where the line is at
            // home, whoever has copies. In global_bypass_l1.
  kTouchChain,  // as kTouch, of `loads` elements of a chain from the `first` on in its order: thread t of the block
                // takes the t-th of each kTouchThreads of them, so that a load overtakes about as many others. Quicker
                // than kWarm by so much where loads are slow. Of listed elements or shuffled orders, without skew.
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

// Whether all threads of the block take part.
[[nodiscard]] constexpr bool is_touch(StepKind kind) {
  return kind == StepKind::kTouch || kind == StepKind::kTouchChain;
}

// Elements that a kTouch step loads of an array.
[[nodiscard]] constexpr std::uint64_t touched_elements(const ChaseArray& array, const ChaseStep& step) {
  return step.loads == 0 ? array.element_count() - step.first : step.loads;
}

// A pointer chase by a few actors, in one block on one SM or in one block on each SM that they name. Shared memory
// belongs to a block, so an array there may be chased by actors of one SM only.
struct ChaseProgram {
  static constexpr std::string_view kKind = "chase";
  using Result = ChaseResult;

  std::vector<ChaseArray> arrays;
  std::vector<ChaseActor> actors;
  std::vector<ChaseStep> steps;
  // True: it must have the GPU to itself (it measures what SMs share). False: it may run beside others, one per SM.
  bool exclusive = false;
  std::optional<std::uint32_t> sm;  // the SM that must run it; any if not set. Only with exclusive, and not beside
                                    // actors that name theirs.
  std::uint64_t shared_carve_out_bytes = 0;  // wanted shared-memory carve-out; the device takes the next one that fits
  std::uint32_t timed_cap = 1024;            // latencies kept of each timed step
  // At most so much is L2 to fetch from memory for a miss: 32, 64 or 128, of which drivers take the next that their GPU
  // has; 0: whatever the limit is. Only with exclusive.
  std::uint32_t l2_fetch_bytes = 0;
  friend bool operator==(const ChaseProgram&, const ChaseProgram&) = default;
};

// Histogram of load latencies: bin b counts raw latencies in [b*kHistogramBinCycles, (b+1)*kHistogramBinCycles); the
// last bin takes everything longer.
inline constexpr std::uint32_t kHistogramBins = 1024;
inline constexpr std::uint32_t kHistogramBinCycles = 2;

struct StepResult {
  std::uint64_t loads = 0;
  std::uint64_t total_cycles = 0;  // of the whole step
  std::vector<std::uint32_t>
      latencies;  // where keeps_latencies(): raw cycles of each load, the timer's own cost included
  std::vector<std::uint32_t> histogram;  // where has_histogram(): kHistogramBins counts (trailing zeros may be cut)
  friend bool operator==(const StepResult&, const StepResult&) = default;
};

struct ChaseResult {
  std::vector<StepResult> steps;
  std::uint32_t sm = 0;  // where it ran; the first actor's where they name theirs
  friend bool operator==(const ChaseResult&, const ChaseResult&) = default;
};

// The element indices in the order that `chain` (0 or 1) of `array` visits them: a permutation of 0..element_count-1,
// or of array.elements; the first `count` of it, where there are more. The same on every device, so that results can be
// compared load by load.
[[nodiscard]] std::vector<std::uint32_t> chain_order(const ChaseArray& array, std::uint32_t chain,
                                                     std::uint64_t count = ~std::uint64_t{0});

}  // namespace gputopo
