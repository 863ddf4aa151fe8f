#include "device/launch/chase_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "gputopo/error.h"

namespace gputopo::launch {
namespace {

constexpr std::uint64_t kArrayAlignment = 4096;
constexpr std::uint64_t kLargestArrayAlignment = 64 * 1024;
constexpr std::uint64_t kSharedAlignment = 128;
constexpr std::uint64_t kConstantAlignment = 256;
constexpr std::uint64_t kRecordAlignment = 128;
// A batch takes no more programs once its arrays hold this much.
constexpr std::uint64_t kMostBatchBytes = 1ull << 30;
constexpr std::uint64_t kMostOrdersBytes = 64ull << 20;
// Slowest we expect a load of a chain to be (device memory, TLB miss), to refuse what would hang the GPU's display or
// us.
constexpr double kSecondsPerLoad = 0.35e-6;
constexpr double kSecondsPerOnChipLoad = 0.1e-6;
// How long a block waits for a step on another SM, at most.
constexpr std::uint32_t kLongestWaitCycles = 4'000'000'000;

std::uint64_t align(std::uint64_t value, std::uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

std::uint64_t array_alignment(std::uint64_t bytes) {
  return std::clamp(std::bit_ceil(bytes), kArrayAlignment, kLargestArrayAlignment);
}

StepCode code_of(StepKind kind) {
  switch (kind) {
    case StepKind::kWarm:
      return StepCode::kWarm;
    case StepKind::kTouch:
      return StepCode::kTouch;
    case StepKind::kStore:
      return StepCode::kStore;
    case StepKind::kPaired:
      return StepCode::kPaired;
    case StepKind::kTimed:
    case StepKind::kCounted:
      break;
  }
  return StepCode::kTimed;
}

// The SMs that actors name, each once, in their order; empty where they name none.
std::vector<std::uint32_t> named_sms(const ChaseProgram& program) {
  std::vector<std::uint32_t> sms;
  for (const ChaseActor& actor : program.actors) {
    if (actor.sm && std::find(sms.begin(), sms.end(), *actor.sm) == sms.end()) sms.push_back(*actor.sm);
  }
  return sms;
}

std::uint32_t kept_latencies(const ChaseProgram& program, const ChaseStep& step) {
  if (step.kind != StepKind::kTimed) return 0;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(program.timed_cap, step.loads));
}

std::uint64_t step_record_bytes(const ChaseProgram& program, const ChaseStep& step) {
  if (!has_histogram(step.kind)) return sizeof(StepRecord);
  return sizeof(StepRecord) + kHistogramBytes + kept_latencies(program, step) * sizeof(std::uint32_t);
}

LinkForm form_of(Space space) {
  switch (space) {
    case Space::kTexture:
      return LinkForm::kTexel;
    case Space::kConstant:
    case Space::kShared:
      return LinkForm::kOffset;
    default:
      return LinkForm::kPointer;
  }
}

Order order_of(const ChaseArray& array, std::uint32_t chain) { return chain == 0 ? array.order : array.second_order; }

// Whether the kernel that writes the links must be given the order of this chain.
bool needs_table(const ChaseArray& array, std::uint32_t chain) {
  return !array.elements.empty() || order_of(array, chain) == Order::kShuffled;
}

double estimated_seconds(const ChaseProgram& program) {
  double seconds = 0;
  for (const ChaseStep& step : program.steps) {
    const ChaseArray& array = program.arrays[step.array];
    const bool on_chip = array.space == Space::kShared || array.space == Space::kConstant;
    std::uint64_t loads = step.loads;
    if (step.kind == StepKind::kTouch) loads = touched_elements(array, step) / kTouchThreads + 1;
    if (step.kind == StepKind::kPaired) loads *= 2;
    seconds += static_cast<double>(loads) * (on_chip ? kSecondsPerOnChipLoad : kSecondsPerLoad);
  }
  return seconds;
}

// Host memory that is to be copied to the device in one piece, with the address that every part will have there.
class Staging {
 public:
  template <typename T>
  std::uint64_t add(const std::vector<T>& values) {
    bytes_.resize(align(bytes_.size(), alignof(std::max_align_t)));
    const std::uint64_t offset = bytes_.size();
    bytes_.resize(offset + values.size() * sizeof(T));
    if (!values.empty()) std::memcpy(bytes_.data() + offset, values.data(), values.size() * sizeof(T));
    return offset;
  }
  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace

// What a program needs, before it is known where in memory it will be.
struct ChaseRunner::Plan {
  ChaseJob job;
  struct Array {
    std::uint64_t data_offset = 0;   // of its links (or of their image) from the start of the program's data
    std::uint64_t space_offset = 0;  // from the start of constant or shared memory
  };
  std::vector<Array> arrays;
  std::vector<ChaseArray> constants;  // all constant arrays: programs with equal ones may run in one launch
  std::uint64_t data_bytes = 0;
  std::uint64_t constant_offset = 0;  // of the image of the constant bank in the data
  std::uint64_t shared_image_offset = 0;
  std::uint32_t shared_image_bytes = 0;
  std::uint32_t shared_image_place = 0;  // in the block's dynamic shared memory
  std::uint32_t latency_place = 0;
  std::uint64_t shared_bytes = 0;
  std::uint64_t carve_out_bytes = 0;
  std::uint64_t record_bytes = 0;
  std::uint32_t threads = 32;
  std::vector<std::uint32_t> sms;  // of its slots, where its actors name theirs
  [[nodiscard]] std::size_t slots() const { return std::max<std::size_t>(1, sms.size()); }
};

// A step on each of a program's SMs: when it may begin.
struct alignas(kRecordAlignment) Turn {
  std::uint32_t steps_ended = 0;
};

ChaseRunner::Plan ChaseRunner::make_plan(const ChaseJob& job) const {
  const ChaseProgram& program = *job.program;
  gpu_.check(program);
  Plan plan{.job = job, .sms = named_sms(program)};
  if (const double seconds = estimated_seconds(program); seconds > kMaxLaunchSeconds) {
    throw UsageError(
        fmt::format("program: its steps may take {:.1f} s, and a launch may last {:.0f} s; give it fewer loads, or "
                    "touch steps for warming large arrays",
                    seconds, kMaxLaunchSeconds));
  }

  std::uint64_t constant_bytes = 0;
  std::uint64_t shared_bytes = 0;
  plan.arrays.resize(program.arrays.size());
  for (std::size_t i = 0; i < program.arrays.size(); ++i) {
    const ChaseArray& array = program.arrays[i];
    Plan::Array& place = plan.arrays[i];
    if (array.alias_of) {
      place = plan.arrays[*array.alias_of];
    } else if (array.space == Space::kConstant) {
      place.space_offset = constant_bytes;
      constant_bytes = align(constant_bytes + array.bytes, kConstantAlignment);
      plan.constants.push_back(array);
    } else if (array.space == Space::kShared) {
      place.space_offset = shared_bytes;
      shared_bytes = align(shared_bytes + array.bytes, kSharedAlignment);
    } else {
      place.data_offset = align(plan.data_bytes, array_alignment(array.bytes));
      plan.data_bytes = place.data_offset + array.bytes;
    }
  }
  if (constant_bytes > kConstantBankBytes) {
    throw NotSupportedError(fmt::format("the constant arrays need {} bytes, each rounded up to {}; there are {}",
                                        constant_bytes, kConstantAlignment, kConstantBankBytes));
  }
  plan.constant_offset = align(plan.data_bytes, kArrayAlignment);
  plan.shared_image_offset =
      align(plan.constant_offset + (plan.constants.empty() ? 0 : kConstantBankBytes), kArrayAlignment);
  plan.shared_image_bytes = static_cast<std::uint32_t>(shared_bytes);
  plan.data_bytes = align(plan.shared_image_offset + shared_bytes, kArrayAlignment);
  for (std::size_t i = 0; i < program.arrays.size(); ++i) {
    const Space space = program.arrays[i].space;
    if (space == Space::kConstant) plan.arrays[i].data_offset = plan.constant_offset + plan.arrays[i].space_offset;
    if (space == Space::kShared) plan.arrays[i].data_offset = plan.shared_image_offset + plan.arrays[i].space_offset;
  }

  bool timed = false;
  std::uint32_t cap = 0;
  plan.record_bytes = plan.slots() * sizeof(BlockRecord) + (plan.sms.empty() ? 0 : sizeof(Turn));
  for (const ChaseStep& step : program.steps) {
    timed = timed || has_histogram(step.kind);
    cap = std::max(cap, kept_latencies(program, step));
    plan.record_bytes += align(step_record_bytes(program, step), sizeof(std::uint64_t));
    const std::uint32_t threads =
        step.kind == StepKind::kTouch ? kTouchThreads : gpu_.info().warp_size * (program.actors[step.actor].warp + 1);
    plan.threads = std::max(plan.threads, threads);
  }
  plan.record_bytes = align(plan.record_bytes, kRecordAlignment);
  plan.latency_place = timed ? kHistogramBytes : sizeof(std::uint64_t);  // a word at the start is used at the beginning
  plan.shared_image_place =
      static_cast<std::uint32_t>(align(plan.latency_place + cap * sizeof(std::uint32_t), kSharedAlignment));
  plan.shared_bytes = plan.shared_image_place + shared_bytes;
  plan.carve_out_bytes = gpu_.carve_out_for(program.shared_carve_out_bytes, plan.shared_bytes, 1);
  return plan;
}

void ChaseRunner::run(std::span<const ChaseJob> jobs) {
  std::vector<Plan> plans;
  plans.reserve(jobs.size());
  for (const ChaseJob& job : jobs) plans.push_back(make_plan(job));
  std::vector<Plan*> waiting;
  for (Plan& plan : plans) waiting.push_back(&plan);
  while (!waiting.empty()) {
    const std::vector<Plan*> batch = choose_batch(waiting);
    const std::vector<Plan*> again = run_batch(batch);
    if (again.size() < batch.size()) {
      waiting.insert(waiting.begin(), again.begin(), again.end());
    } else {
      // No block had an SM to itself; alone, each has.
      for (Plan* plan : again) static_cast<void>(run_batch({plan}));
    }
  }
}

// Takes the first program from `waiting` and those that can run beside it.
std::vector<ChaseRunner::Plan*> ChaseRunner::choose_batch(std::vector<Plan*>& waiting) const {
  Plan* const first = waiting.front();
  std::vector<Plan*> batch = {first};
  std::vector<Plan*> rest;
  const std::vector<ChaseArray>* constants = &first->constants;
  std::uint64_t bytes = first->data_bytes;
  for (auto it = waiting.begin() + 1; it != waiting.end(); ++it) {
    Plan* const plan = *it;
    const bool constants_fit = plan->constants.empty() || constants->empty() || plan->constants == *constants;
    const auto sociable = [&](const ChaseProgram& program) {
      return !program.exclusive && gpu_.may_run_beside_others(program);
    };
    const bool fits = sociable(*first->job.program) && sociable(*plan->job.program) &&
                      batch.size() < gpu_.info().sm_count && constants_fit &&
                      plan->carve_out_bytes == first->carve_out_bytes && bytes + plan->data_bytes <= kMostBatchBytes;
    if (!fits) {
      rest.push_back(plan);
      continue;
    }
    if (constants->empty()) constants = &plan->constants;
    bytes += plan->data_bytes;
    batch.push_back(plan);
  }
  waiting = std::move(rest);
  return batch;
}

std::uint64_t ChaseRunner::element_at(const ChaseArray& array, std::uint32_t chain, std::uint64_t position) {
  if (!array.elements.empty()) return chain_order(array, chain)[position];
  const Order order = order_of(array, chain);
  if (order == Order::kShuffled) return shuffled_order(array, chain)[position];
  return order == Order::kReversed ? array.element_count() - 1 - position : position;
}

const std::vector<std::uint32_t>& ChaseRunner::shuffled_order(const ChaseArray& array, std::uint32_t chain) {
  const std::pair key(array.element_count(), array.seed * 2 + chain);
  if (const auto found = orders_.find(key); found != orders_.end()) return found->second;
  if (orders_bytes_ > kMostOrdersBytes) {
    orders_.clear();
    orders_bytes_ = 0;
  }
  orders_bytes_ += array.element_count() * sizeof(std::uint32_t);
  return orders_[key] = chain_order(array, chain);
}

void ChaseRunner::check_block(const BlockRecord& block, std::optional<std::uint32_t> sm) const {
  if (block.claimed == 0) {
    throw NotSupportedError(fmt::format("no block of the launch ran on SM {}: this GPU may number its {} SMs with gaps",
                                        sm.value_or(kAnySm), gpu_.info().sm_count));
  }
  switch (block.error) {
    case 0:
      return;
    case kNoLink:
      throw DeviceError("kernel chase: constant memory does not start at 0 of its window on this GPU");
    case kNoTurn:
      throw DeviceError("kernel chase: a step on another SM did not end; another program may hold that SM, try again");
    default:
      throw DeviceError(fmt::format("kernel chase: step {} followed a link out of its array; the memory may be faulty",
                                    block.error - 1));
  }
}

TextureView ChaseGpu::make_texture(Address, std::uint64_t) {
  throw NotSupportedError("this GPU's kernels read no textures");
}

void ChaseGpu::set_constants(Address) { throw NotSupportedError("this GPU's kernels have no bank of constants"); }

std::vector<ChaseRunner::Plan*> ChaseRunner::run_batch(const std::vector<Plan*>& plans) {
  // Where things go: the programs' data, their records, then what is copied from the host.
  std::vector<std::uint64_t> data_offsets;
  std::vector<std::uint64_t> record_offsets;
  std::uint64_t end = 0;
  for (const Plan* plan : plans) {
    data_offsets.push_back(end);
    end = align(end + plan->data_bytes, kLargestArrayAlignment);
  }
  const std::uint64_t records_offset = end;
  for (const Plan* plan : plans) {
    record_offsets.push_back(end);
    end += plan->record_bytes;
  }
  const std::uint64_t records_bytes = end - records_offset;
  const std::uint64_t staged_offset = align(end, kRecordAlignment);

  // The orders of shuffled chains come first: their addresses go into the fill tasks.
  Staging staging;
  std::map<std::pair<const ChaseArray*, std::uint32_t>, std::uint64_t> table_offsets;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> shuffle_offsets;  // by length and seed
  std::vector<FillTask> fills;
  std::uint64_t most_elements = 0;
  for (const Plan* plan : plans) {
    for (const ChaseArray& array : plan->job.program->arrays) {
      if (array.alias_of) continue;
      most_elements = std::max(most_elements, array.chain_length());
      for (const std::uint32_t chain : {0u, 1u}) {
        if (!needs_table(array, chain)) continue;
        std::uint64_t& offset = table_offsets[{&array, chain}];
        if (!array.elements.empty()) {
          offset = staging.add(chain_order(array, chain));
          continue;
        }
        const std::pair key(array.element_count(), array.seed * 2 + chain);
        const auto found = shuffle_offsets.find(key);
        offset = found != shuffle_offsets.end() ? found->second : staging.add(shuffled_order(array, chain));
        shuffle_offsets[key] = offset;
      }
    }
  }
  std::uint64_t task_bytes = 0;
  for (const Plan* plan : plans) {
    task_bytes += plan->slots() * sizeof(ChaseTask) + plan->job.program->arrays.size() * sizeof(FillTask) +
                  plan->job.program->steps.size() * sizeof(StepTask) + 64;
  }
  const Address base = gpu_.reserve(staged_offset + staging.bytes().size() + task_bytes + 256);
  const Address staged = base + staged_offset;

  std::vector<TextureView> textures;
  std::vector<ChaseTask> tasks;
  std::set<std::uint32_t> wanted_sms;
  const Plan* with_constants = nullptr;
  std::size_t with_constants_index = 0;
  std::uint64_t shared_bytes = 0;
  std::uint32_t threads = 0;
  for (std::size_t p = 0; p < plans.size(); ++p) {
    const Plan& plan = *plans[p];
    const ChaseProgram& program = *plan.job.program;
    const Address data = base + data_offsets[p];
    std::vector<std::uint64_t> texture_of(program.arrays.size(), 0);
    std::vector<std::uint64_t> link_base(program.arrays.size(), 0);
    for (std::size_t i = 0; i < program.arrays.size(); ++i) {
      const ChaseArray& array = program.arrays[i];
      const Address address = data + plan.arrays[i].data_offset;
      const LinkForm form = form_of(array.space);
      link_base[i] = form == LinkForm::kPointer ? address : form == LinkForm::kOffset ? plan.arrays[i].space_offset : 0;
      if (array.space == Space::kTexture) {
        texture_of[i] = textures.emplace_back(gpu_.make_texture(address, array.bytes)).handle;
      }
      if (array.alias_of) continue;
      FillTask fill{.address = address,
                    .link_base = link_base[i],
                    .stride_bytes = array.stride_bytes,
                    .skew_bytes = array.skew_bytes,
                    .stagger_bytes = array.stagger_bytes,
                    .stagger_mask = array.stagger_window_bytes - 1,
                    .count = static_cast<std::uint32_t>(array.chain_length()),
                    .form = form};
      for (const std::uint32_t chain : {0u, 1u}) {
        fill.reversed[chain] = order_of(array, chain) == Order::kReversed ? 1 : 0;
        if (needs_table(array, chain)) fill.tables[chain] = staged + table_offsets.at({&array, chain});
      }
      fills.push_back(fill);
    }

    std::vector<StepTask> steps;
    const Address turn = base + record_offsets[p] + plan.slots() * sizeof(BlockRecord);
    std::uint64_t record = turn + (plan.sms.empty() ? 0 : sizeof(Turn));
    for (const ChaseStep& step : program.steps) {
      const ChaseArray& array = program.arrays[step.array];
      const ChaseActor& actor = program.actors[step.actor];
      StepTask task{
          .base = link_base[step.array],
          .texture = texture_of[step.array],
          .stride_bytes = array.stride_bytes,
          .skew_bytes = array.skew_bytes,
          .result = record,
          .code = static_cast<std::uint32_t>(code_of(step.kind)) + kStepCodes * static_cast<std::uint32_t>(array.space),
          .thread = actor.warp * gpu_.info().warp_size + actor.lane,
          .loads = static_cast<std::uint32_t>(step.loads),
          .cap = kept_latencies(program, step),
          .elements = static_cast<std::uint32_t>(array.element_count())};
      if (actor.sm) {
        task.slot =
            static_cast<std::uint32_t>(std::find(plan.sms.begin(), plan.sms.end(), *actor.sm) - plan.sms.begin());
      }
      if (step.kind == StepKind::kTouch) {
        task.base += step.first * array.stride_bytes;
        task.loads = static_cast<std::uint32_t>(touched_elements(array, step));
      } else {
        const std::uint64_t element = element_at(array, step.chain, step.first);
        const std::uint64_t link = link_base[step.array] + array.element_offset(element) + 8 * step.chain;
        task.start = form_of(array.space) == LinkForm::kTexel ? link / 4 : link;
      }
      record += align(step_record_bytes(program, step), sizeof(std::uint64_t));
      steps.push_back(task);
    }
    ChaseTask task{.steps = staged + staging.add(steps),
                   .result = base + record_offsets[p],
                   .shared_image = data + plan.shared_image_offset,
                   .shared_bytes = plan.shared_image_bytes,
                   .shared_offset = plan.shared_image_place,
                   .latency_offset = plan.latency_place,
                   .step_count = static_cast<std::uint32_t>(steps.size()),
                   .wanted_sm = program.sm ? gpu_.hardware_id_of(*program.sm) : kAnySm,
                   .never = kNever,
                   .zero = 0,
                   .dry_passes = 1,
                   .patience_cycles = gpu_.patience_cycles(),
                   .turn = plan.sms.empty() ? 0 : turn,
                   .longest_wait_cycles = kLongestWaitCycles};
    for (std::uint32_t slot = 0; slot < plan.slots(); ++slot) {
      task.slot = slot;
      task.result = base + record_offsets[p] + slot * sizeof(BlockRecord);
      if (!plan.sms.empty()) task.wanted_sm = gpu_.hardware_id_of(plan.sms[slot]);
      if (task.wanted_sm != kAnySm) wanted_sms.insert(task.wanted_sm);
      tasks.push_back(task);
    }
    if (!plan.constants.empty() && with_constants == nullptr) {
      with_constants = &plan;
      with_constants_index = p;
    }
    shared_bytes = std::max(shared_bytes, plan.shared_bytes);
    threads = std::max(threads, plan.threads);
  }
  const Address fill_address = staged + staging.add(fills);
  const Address task_address = staged + staging.add(tasks);
  gpu_.clear(base + records_offset, records_bytes);
  gpu_.upload(staged, staging.bytes().data(), staging.bytes().size());

  gpu_.launch_fill(fill_address, static_cast<std::uint32_t>(fills.size()), most_elements);
  if (with_constants != nullptr) {
    gpu_.set_constants(base + data_offsets[with_constants_index] + with_constants->constant_offset);
  }

  const Plan& first = *plans.front();
  const bool named = first.job.program->sm.has_value() || !first.sms.empty();
  const std::uint64_t block_bytes = named ? gpu_.shared_bytes_to_reach_every_sm(first.carve_out_bytes, shared_bytes)
                                          : gpu_.shared_bytes_for_one_block(first.carve_out_bytes, shared_bytes);
  gpu_.launch_chase({.tasks = task_address,
                     .task_count = static_cast<std::uint32_t>(tasks.size()),
                     .by_block = !named,
                     .blocks = named ? gpu_.blocks_to_reach_every_sm() : static_cast<std::uint32_t>(plans.size()),
                     .threads = threads,
                     .shared_bytes = block_bytes,
                     .carve_out_bytes = first.carve_out_bytes,
                     .wanted_sms = std::move(wanted_sms)});

  std::vector<std::byte> records(records_bytes);
  gpu_.download(records.data(), base + records_offset, records_bytes);
  std::map<std::uint32_t, int> blocks_on_sm;
  for (const std::uint64_t offset : record_offsets) {
    BlockRecord block;
    std::memcpy(&block, records.data() + (offset - records_offset), sizeof(block));
    ++blocks_on_sm[block.sm];
  }
  std::vector<Plan*> again;
  for (std::size_t p = 0; p < plans.size(); ++p) {
    const ChaseProgram& program = *plans[p]->job.program;
    const std::byte* at = records.data() + (record_offsets[p] - records_offset);
    BlockRecord block;
    for (std::size_t slot = plans[p]->slots(); slot-- > 0;) {
      std::memcpy(&block, at + slot * sizeof(block), sizeof(block));
      check_block(block, plans[p]->sms.empty() ? program.sm : plans[p]->sms[slot]);
    }
    at += plans[p]->slots() * sizeof(block) + (plans[p]->sms.empty() ? 0 : sizeof(Turn));
    if (blocks_on_sm[block.sm] > 1) {
      again.push_back(plans[p]);
      continue;
    }
    ChaseResult result{.sm = gpu_.sm_of(block.sm)};
    for (const ChaseStep& step : program.steps) {
      StepRecord record;
      std::memcpy(&record, at, sizeof(record));
      StepResult& answer = result.steps.emplace_back();
      answer.loads = step.kind == StepKind::kTouch ? touched_elements(program.arrays[step.array], step) : step.loads;
      answer.total_cycles = record.cycles;
      if (has_histogram(step.kind)) {
        answer.histogram.resize(kHistogramBins);
        std::memcpy(answer.histogram.data(), at + sizeof(record), kHistogramBytes);
        while (!answer.histogram.empty() && answer.histogram.back() == 0) answer.histogram.pop_back();
        answer.latencies.resize(kept_latencies(program, step));
        if (!answer.latencies.empty()) {
          std::memcpy(answer.latencies.data(), at + sizeof(record) + kHistogramBytes,
                      answer.latencies.size() * sizeof(std::uint32_t));
        }
      }
      at += align(step_record_bytes(program, step), sizeof(std::uint64_t));
    }
    *plans[p]->job.result = {.data = std::move(result),
                             .sm_clock_mhz = gpu_.clock_mhz(block),
                             .shared_carve_out_bytes = plans[p]->carve_out_bytes};
  }
  return again;
}

}  // namespace gputopo::launch
