#include "program/chase_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <string>

#include "program/result_mismatch.h"
#include "program/validation.h"

namespace gputopo {
namespace {

constexpr std::uint32_t kMaxWarps = kTouchThreads / 32;

bool is_plain_memory(Space space) {
  return space == Space::kGlobal || space == Space::kGlobalBypassL1 || space == Space::kReadOnly ||
         space == Space::kScalar;
}

// In local memory, a thread reaches one word of every 128 bytes, and only its own warp reaches the array.
void validate_local(const ChaseProgram& program, std::size_t index, const std::string& field) {
  const ChaseArray& array = program.arrays[index];
  require(array.stride_bytes % kLocalStrideBytes == 0, field + ".stride_bytes",
          "must be a multiple of 128 in local memory, where 128 bytes hold one word of each lane of a warp");
  require(array.skew_bytes == 0, field + ".skew_bytes", "must be 0 in local memory");
  require(array.stagger_bytes == 0, field + ".stagger_bytes", "must be 0 in local memory");
  const ChaseActor* page_chaser = nullptr;
  for (const ChaseStep& step : program.steps) {
    if (step.array != index || step.actor >= program.actors.size()) continue;
    const ChaseActor& actor = program.actors[step.actor];
    if (page_chaser == nullptr) page_chaser = &actor;
    require(actor.warp == page_chaser->warp && actor.sm == page_chaser->sm, field,
            "must be accessed by only one warp, because each warp has its own local memory");
  }
}

void validate_array(const ChaseProgram& program, std::size_t index) {
  const ChaseArray& array = program.arrays[index];
  const std::string field = fmt::format("arrays[{}]", index);
  require(array.stride_bytes >= kMinimumStrideBytes, field + ".stride_bytes", "must be at least 16");
  require(array.stride_bytes % 8 == 0, field + ".stride_bytes", "must be a multiple of 8");
  require(array.element_count() >= 1, field + ".bytes", "must hold at least one element");
  require(array.element_count() <= (1ull << 31), field + ".bytes", "must hold at most 2^31 elements");
  require(array.skew_bytes == 0 || array.skew_bytes + kMinimumStrideBytes <= array.stride_bytes, field + ".skew_bytes",
          "must leave at least 16 bytes of the stride for the links of the chain");
  require(array.skew_bytes % 8 == 0, field + ".skew_bytes", "must be a multiple of 8");
  require(array.stagger_bytes % kMinimumStrideBytes == 0, field + ".stagger_bytes", "must be a multiple of 16");
  require(std::has_single_bit(array.stagger_window_bytes) && array.stagger_window_bytes <= array.stride_bytes,
          field + ".stagger_window_bytes", "must be a power of two, at most the stride");
  require(array.stagger_bytes == 0 || array.skew_bytes == 0, field + ".stagger_bytes",
          "must be 0 if skew_bytes is not 0");
  if (!array.elements.empty()) {
    require(array.skew_bytes == 0, field + ".skew_bytes", "must be 0 if elements are listed");
    std::vector<std::uint32_t> sorted = array.elements;
    std::sort(sorted.begin(), sorted.end());
    require(sorted.back() < array.element_count(), field + ".elements",
            "must all be less than the number of elements of the array");
    require(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end(), field + ".elements",
            "must not list an element twice");
  }
  if (array.space == Space::kLocal) validate_local(program, index, field);
  if (array.alias_of) {
    require(*array.alias_of < index, field + ".alias_of", "must name an earlier array");
    const ChaseArray& original = program.arrays[*array.alias_of];
    require(!original.alias_of, field + ".alias_of", "must name an array that is not itself an alias");
    require(is_plain_memory(array.space) && is_plain_memory(original.space), field + ".alias_of",
            "is allowed only if both arrays are in the space global, global_bypass_l1, read_only or scalar");
    ChaseArray same = original;
    same.space = array.space;
    same.alias_of = array.alias_of;
    require(same == array, field, "must match the array that it aliases in every field except space");
  }
}

void validate_touch(const ChaseArray& array, const ChaseStep& step, const std::string& field) {
  const std::uint64_t elements = array.element_count();
  require(touched_elements(array, step) <= elements - step.first, field + ".loads",
          "must not extend past the end of the array");
  require(array.skew_bytes == 0 || touched_elements(array, step) == elements, field + ".loads",
          "must include every element of the array if its skew_bytes is not 0");
  require(array.stagger_bytes == 0 || step.first == 0, field + ".first",
          "must be 0 if stagger_bytes of the array is not 0");
  require(array.elements.empty(), field + ".kind", "must not be touch if elements are listed");
}

void validate_touch_chain(const ChaseArray& array, const ChaseStep& step, const std::string& field) {
  require(step.loads <= array.chain_length() - step.first, field + ".loads",
          "must not extend past the end of the chain");
  const Order order = step.chain == 0 ? array.order : array.second_order;
  require(!array.elements.empty() || order == Order::kShuffled, field + ".kind",
          "may be touch_chain only if the order is shuffled or elements are listed");
  require(array.skew_bytes == 0, field + ".kind", "must not be touch_chain if skew_bytes of the array is not 0");
}

// A store step computes each link from the place of the element before or after, so it can write plain arrays only.
void validate_store(const ChaseArray& array, const ChaseStep& step, const std::string& field) {
  require(is_global(array.space), field + ".kind", "may be store only in the spaces global and global_bypass_l1");
  const bool plain = array.elements.empty() && array.stagger_bytes == 0 && array.skew_bytes == 0;
  require(plain, field + ".kind",
          "must not be store if elements are listed, or if stagger_bytes or skew_bytes of the array is not 0");
  require(array.order == Order::kSequential && array.second_order == Order::kReversed, field + ".kind",
          "may be store only if order is sequential and second_order is reversed");
  require(step.chain == 0, field + ".chain", "must be 0 for store");
  require(step.first == 0, field + ".first", "must be 0 for store");
  require(step.loads <= array.element_count(), field + ".loads",
          "must be at most the number of elements if kind is store");
}

void validate_step(const ChaseProgram& program, std::size_t index) {
  const ChaseStep& step = program.steps[index];
  const std::string field = fmt::format("steps[{}]", index);
  require(step.actor < program.actors.size(), field + ".actor", "must be less than the number of actors");
  require(step.array < program.arrays.size(), field + ".array", "must be less than the number of arrays");
  require(step.chain <= 1, field + ".chain", "must be 0 or 1");
  require(step.kind == StepKind::kTouch || step.loads >= 1, field + ".loads", "must be at least 1");
  const ChaseArray& array = program.arrays[step.array];
  require(step.first < array.chain_length(), field + ".first", "must be less than the length of the chain");
  require(!is_touch(step.kind) || array.space != Space::kLocal, field + ".kind",
          "must not be touch or touch_chain in local memory, which other threads cannot access");
  if (step.kind == StepKind::kTouch) validate_touch(array, step, field);
  if (step.kind == StepKind::kTouchChain) validate_touch_chain(array, step, field);
  require(step.kind != StepKind::kPaired || is_global(array.space), field + ".kind",
          "may be paired only in the spaces global and global_bypass_l1");
  require(step.kind != StepKind::kAtomic || array.space == Space::kGlobalBypassL1, field + ".kind",
          "may be atomic only in the space global_bypass_l1");
  if (step.kind == StepKind::kStore) validate_store(array, step, field);
}

// A result must cover all loads of its step, because readers locate each load by the program.
std::string step_misfit(const ChaseProgram& program, const ChaseStep& step, const StepResult& result) {
  const bool touches = step.kind == StepKind::kTouch && step.array < program.arrays.size();
  const std::uint64_t loads = touches ? touched_elements(program.arrays[step.array], step) : step.loads;
  if (result.loads != loads) return fmt::format("has {} loads, but its program has {}", result.loads, loads);
  const std::uint64_t kept = keeps_latencies(step.kind) ? std::min<std::uint64_t>(step.loads, program.timed_cap) : 0;
  if (result.latencies.size() != kept) {
    return fmt::format("has {} latencies, but its program keeps {}", result.latencies.size(), kept);
  }
  const std::uint64_t counted = has_histogram(step.kind) ? loads : 0;
  const std::uint64_t sum = std::accumulate(result.histogram.begin(), result.histogram.end(), std::uint64_t{0});
  if (result.histogram.size() > kHistogramBins || sum != counted) {
    return fmt::format("has a histogram of {} loads, but its program counts {}", sum, counted);
  }
  return {};
}

}  // namespace

std::string_view to_string(Order order) { return name_of(order); }
std::string_view to_string(StepKind kind) { return name_of(kind); }

void validate_kind(const ChaseProgram& program) {
  require(!program.arrays.empty(), "arrays", "must not be empty");
  require(!program.actors.empty(), "actors", "must not be empty");
  require(!program.steps.empty(), "steps", "must not be empty");
  require(!program.sm || program.exclusive, "sm", "is allowed only in exclusive programs");
  const std::uint32_t fetch = program.l2_fetch_bytes;
  require(fetch == 0 || ((fetch == 32 || fetch == 64 || fetch == 128) && program.exclusive), "l2_fetch",
          "must be 0, or 32, 64 or 128 in exclusive programs");
  std::uint64_t constant_bytes = 0;
  std::uint64_t local_bytes = 0;
  for (std::size_t i = 0; i < program.arrays.size(); ++i) {
    validate_array(program, i);
    if (program.arrays[i].space == Space::kConstant) constant_bytes += program.arrays[i].bytes;
    if (program.arrays[i].space != Space::kLocal) continue;
    const std::uint64_t bytes = std::min(program.arrays[i].bytes, 2 * kMaxLocalBytes);
    local_bytes += (bytes + kLocalStrideBytes - 1) / kLocalStrideBytes * kLocalStrideBytes;
  }
  require(constant_bytes <= kConstantBankBytes, "arrays", "exceed the 64 KiB of constant memory");
  require(local_bytes <= kMaxLocalBytes, "arrays", "exceed the 1 MiB of local memory that a program may use");
  for (const ChaseActor& actor : program.actors) {
    require(actor.warp < kMaxWarps && actor.lane < 32, "actors", "must name a warp below 32 and a lane below 32");
    require(actor.sm.has_value() == program.actors[0].sm.has_value(), "actors", "must all name an SM, or all omit it");
    require(!actor.sm || (program.exclusive && !program.sm), "actors",
            "may name SMs only in exclusive programs that do not set sm");
  }
  for (std::size_t i = 0; i < program.steps.size(); ++i) validate_step(program, i);
}

std::string result_mismatch(const ChaseProgram& program, const ChaseResult& result) {
  if (result.steps.size() != program.steps.size()) return kNotEachStep;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    if (std::string wrong = step_misfit(program, program.steps[i], result.steps[i]); !wrong.empty()) {
      return fmt::format("steps[{}] {}", i, wrong);
    }
  }
  return sm_misfit({&result.sm, 1});
}

}  // namespace gputopo
