#include "device/launch/chase_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "gputopo/error.h"
#include "model/round_up.h"

namespace gputopo::launch {
namespace {

constexpr std::uint64_t kArrayAlignment = 4096;
constexpr std::uint64_t kMaxArrayAlignment = 64 * 1024;
constexpr std::uint64_t kSharedAlignment = 128;
constexpr std::uint64_t kConstantAlignment = 256;
// A batch takes no more programs once its arrays are this large.
constexpr std::uint64_t kMaxBatchBytes = 1ull << 30;
// Slowest expected load (device memory, TLB miss), to refuse programs that would hang the GPU's display or us.
constexpr double kSecondsPerLoad = 0.35e-6;
constexpr double kSecondsPerOnChipLoad = 0.1e-6;

std::uint64_t array_alignment(std::uint64_t bytes) {
  return std::clamp(std::bit_ceil(bytes), kArrayAlignment, kMaxArrayAlignment);
}

// The SMs that actors name, each once, in order of appearance; empty if they name none.
std::vector<std::uint32_t> named_sms(const ChaseProgram& program) {
  std::vector<std::uint32_t> sms;
  for (const ChaseActor& actor : program.actors) {
    if (actor.sm && std::ranges::find(sms, *actor.sm) == sms.end()) sms.push_back(*actor.sm);
  }
  return sms;
}

double estimated_seconds(const ChaseProgram& program) {
  double seconds = 0;
  for (const ChaseStep& step : program.steps) {
    const ChaseArray& array = program.arrays[step.array];
    const bool on_chip = array.space == Space::kShared || array.space == Space::kConstant;
    std::uint64_t loads = step.loads;
    if (step.kind == StepKind::kTouch) loads = touched_elements(array, step);
    if (is_touch(step.kind)) loads = loads / kTouchThreads + 1;
    if (step.kind == StepKind::kPaired) loads *= 2;
    seconds += static_cast<double>(loads) * (on_chip ? kSecondsPerOnChipLoad : kSecondsPerLoad);
  }
  return seconds;
}

// The arrays in device memory come first, then the images of the constant bank, of shared and of local memory.
void place_arrays(const ChaseProgram& program, ChaseLayout& layout) {
  std::uint64_t constant_bytes = 0;
  std::uint64_t shared_bytes = 0;
  std::uint64_t local_bytes = 0;
  layout.arrays.resize(program.arrays.size());
  for (std::size_t i = 0; i < program.arrays.size(); ++i) {
    const ChaseArray& array = program.arrays[i];
    ChaseLayout::Array& place = layout.arrays[i];
    if (array.alias_of) {
      place = layout.arrays[*array.alias_of];
    } else if (array.space == Space::kConstant) {
      place.space_offset = constant_bytes;
      constant_bytes = round_up(constant_bytes + array.bytes, kConstantAlignment);
      layout.constants.push_back(array);
    } else if (array.space == Space::kShared) {
      place.space_offset = shared_bytes;
      shared_bytes = round_up(shared_bytes + array.bytes, kSharedAlignment);
    } else if (array.space == Space::kLocal) {
      place.space_offset = local_bytes;
      local_bytes = round_up(local_bytes + array.bytes, kLocalStrideBytes);
    } else {
      place.data_offset = round_up(layout.data_bytes, array_alignment(array.bytes));
      layout.data_bytes = place.data_offset + array.bytes;
    }
  }
  if (constant_bytes > kConstantBankBytes) {
    throw NotSupportedError(fmt::format(
        "the constant arrays need {} bytes (each is rounded up to a multiple of {}); the constant bank has {} bytes",
        constant_bytes, kConstantAlignment, kConstantBankBytes));
  }
  layout.constant_bytes = constant_bytes;
  layout.constant_offset = round_up(layout.data_bytes, kArrayAlignment);
  layout.shared_image_offset =
      round_up(layout.constant_offset + (layout.constants.empty() ? 0 : kConstantBankBytes), kArrayAlignment);
  layout.shared_image_bytes = shared_bytes;
  layout.local_image_offset = round_up(layout.shared_image_offset + shared_bytes, kArrayAlignment);
  layout.local_bytes = local_bytes;
  layout.data_bytes = round_up(layout.local_image_offset + local_bytes, kArrayAlignment);
  for (std::size_t i = 0; i < program.arrays.size(); ++i) {
    const Space space = program.arrays[i].space;
    ChaseLayout::Array& place = layout.arrays[i];
    if (space == Space::kConstant) place.data_offset = layout.constant_offset + place.space_offset;
    if (space == Space::kShared) place.data_offset = layout.shared_image_offset + place.space_offset;
    if (space == Space::kLocal) place.data_offset = layout.local_image_offset + place.space_offset;
  }
}

// Places the records of the steps, and the shared memory of a block: a histogram, latencies, the image of arrays.
void place_records(const ChaseProgram& program, std::uint32_t warp_size, ChaseLayout& layout) {
  bool timed = false;
  std::uint32_t cap = 0;
  layout.record_bytes = layout.steps_offset();
  for (const ChaseStep& step : program.steps) {
    timed = timed || has_histogram(step.kind);
    cap = std::max(cap, kept_latencies(program, step));
    layout.record_bytes += step_record_bytes(program, step);
    const std::uint32_t threads =
        is_touch(step.kind) ? kTouchThreads : warp_size * (program.actors[step.actor].warp + 1);
    layout.threads = std::max(layout.threads, threads);
  }
  layout.record_bytes = round_up(layout.record_bytes, kRecordAlignment);
  // The kernel needs a word at the start of shared memory when it begins.
  layout.latency_place = timed ? kHistogramBytes : sizeof(std::uint64_t);
  layout.shared_image_place =
      static_cast<std::uint32_t>(round_up(layout.latency_place + cap * sizeof(std::uint32_t), kSharedAlignment));
  layout.shared_bytes = layout.shared_image_place + layout.shared_image_bytes;
}

// The constants of the programs of a launch.
class ConstantBank {
 public:
  // Returns false if there is no room for the constants of this program.
  bool take(ChasePlan& plan) {
    if (plan.layout.constants.empty()) return true;
    const auto same = std::ranges::find_if(
        held_, [&](const ChasePlan* other) { return other->layout.constants == plan.layout.constants; });
    if (same != held_.end()) {
      plan.constant_place = (*same)->constant_place;
      return true;
    }
    // Small constants begin at a multiple of every constant L1's size, so they use the same sets as when they are
    // alone. Large ones are alone in a launch, because several SMs may share an L1.5.
    constexpr std::uint64_t kSmallBytes = 8 * 1024;
    const std::uint64_t place = round_up(end_, kSmallBytes);
    const std::uint64_t end = place + plan.layout.constant_bytes;
    if (!held_.empty() && (!is_small_ || end > kConstantBankBytes || plan.layout.constant_bytes > kSmallBytes)) {
      return false;
    }
    plan.constant_place = place;
    is_small_ = plan.layout.constant_bytes <= kSmallBytes;
    end_ = end;
    held_.push_back(&plan);
    return true;
  }

 private:
  std::vector<const ChasePlan*> held_;  // all with different constants
  std::uint64_t end_ = 0;
  bool is_small_ = true;
};

}  // namespace

ChaseLayout lay_out(const ChaseProgram& program, std::uint32_t warp_size) {
  ChaseLayout layout{.sms = named_sms(program), .seconds = estimated_seconds(program)};
  if (layout.seconds > kMaxLaunchSeconds) {
    throw UsageError(
        fmt::format("program: its steps could take {:.1f} s, but a launch is limited to {:.0f} s; use fewer loads, or "
                    "warm large arrays with steps of kind 'touch'",
                    layout.seconds, kMaxLaunchSeconds));
  }
  place_arrays(program, layout);
  place_records(program, warp_size, layout);
  return layout;
}

std::uint32_t kept_latencies(const ChaseProgram& program, const ChaseStep& step) {
  if (!keeps_latencies(step.kind)) return 0;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(program.timed_cap, step.loads));
}

std::uint64_t step_record_bytes(const ChaseProgram& program, const ChaseStep& step) {
  if (!has_histogram(step.kind)) return sizeof(StepRecord);
  const std::uint64_t bytes =
      sizeof(StepRecord) + kHistogramBytes + kept_latencies(program, step) * sizeof(std::uint32_t);
  return round_up(bytes, sizeof(std::uint64_t));
}

std::vector<ChasePlan*> take_batch(std::vector<ChasePlan*>& waiting, std::uint32_t sm_count) {
  const ChasePlan& first = *waiting.front();
  std::uint64_t bytes = 0;
  ConstantBank bank;
  std::vector<ChasePlan*> batch;
  std::vector<ChasePlan*> rest;
  for (ChasePlan* plan : waiting) {
    const bool fits = batch.empty() || (!first.alone && !plan->alone && batch.size() < sm_count &&
                                        plan->carve_out_bytes == first.carve_out_bytes &&
                                        bytes + plan->layout.data_bytes <= kMaxBatchBytes);
    if (!fits || !bank.take(*plan)) {
      rest.push_back(plan);
      continue;
    }
    bytes += plan->layout.data_bytes;
    batch.push_back(plan);
  }
  waiting = std::move(rest);
  return batch;
}

BatchLayout lay_out(const std::vector<ChasePlan*>& batch) {
  BatchLayout layout;
  std::uint64_t end = 0;
  for (const ChasePlan* plan : batch) {
    layout.data.push_back(end);
    end = round_up(end + plan->layout.data_bytes, kMaxArrayAlignment);
  }
  layout.records_begin = end;
  for (const ChasePlan* plan : batch) {
    layout.records.push_back(end);
    end += plan->layout.record_bytes;
  }
  layout.records_bytes = end - layout.records_begin;
  layout.staged = round_up(end, kRecordAlignment);
  return layout;
}

}  // namespace gputopo::launch
