#include "device/launch/chase_encode.h"

#include <algorithm>

namespace gputopo::launch {
namespace {

// Longest wait of a block for a step on another SM.
constexpr std::uint32_t kMaxWaitCycles = 4'000'000'000;
// Alignment of a program's tasks.
constexpr std::uint64_t kTaskPadding = 64;

StepCode code_of(StepKind kind) {
  switch (kind) {
    case StepKind::kWarm:
      return StepCode::kWarm;
    case StepKind::kTouch:
    case StepKind::kTouchChain:
      return StepCode::kTouch;
    case StepKind::kStore:
      return StepCode::kStore;
    case StepKind::kPaired:
      return StepCode::kPaired;
    case StepKind::kAtomic:
      return StepCode::kAtomic;
    case StepKind::kTimed:
    case StepKind::kCounted:
      break;
  }
  return StepCode::kTimed;
}

LinkForm form_of(Space space) {
  switch (space) {
    case Space::kTexture:
      return LinkForm::kTexel;
    case Space::kConstant:
    case Space::kShared:
      return LinkForm::kOffset;
    case Space::kLocal:
      return LinkForm::kLocal;
    default:
      return LinkForm::kPointer;
  }
}

// The list of a program's words in local memory.
struct LocalWords {
  Address address = 0;
  std::size_t count = 0;
};

std::uint64_t local_word_count(const ChaseProgram& program) {
  std::uint64_t words = 0;
  for (const ChaseArray& array : program.arrays) words += array.space == Space::kLocal ? array.chain_length() : 0;
  return words;
}

// The words of all elements that chains may visit, and no others: writing them brings them into the caches.
std::vector<std::uint32_t> local_words(const ChaseProgram& program, const ChaseLayout& layout) {
  std::vector<std::uint32_t> words;
  words.reserve(local_word_count(program));
  for (std::size_t i = 0; i < program.arrays.size(); ++i) {
    const ChaseArray& array = program.arrays[i];
    if (array.space != Space::kLocal) continue;
    for (std::uint64_t place = 0; place < array.chain_length(); ++place) {
      const std::uint64_t element = array.elements.empty() ? place : array.elements[place];
      const std::uint64_t offset = layout.arrays[i].space_offset + array.element_offset(element);
      words.push_back(static_cast<std::uint32_t>(offset / kLocalStrideBytes));
    }
  }
  return words;
}

// The tables of a batch, and their address on the device.
struct StagedTables {
  const ChaseTables& tables;
  Address address = 0;
};

// Encodes one program of a batch.
struct ProgramCoder {
  const ChaseProgram& program;
  const ChaseLayout& layout;
  const ChasePlace& place;
  Address data;                  // address of the program's data
  Address bank;                  // the launch's image of constants; 0: there is none
  std::uint64_t constant_place;  // place of the program's constants in the image
  Address records;               // address of the program's records

  [[nodiscard]] bool is_constant(std::size_t index) const { return program.arrays[index].space == Space::kConstant; }

  // The address where the array, or its image, is filled in.
  [[nodiscard]] Address address_of(std::size_t index) const {
    if (is_constant(index)) return bank + constant_place + layout.arrays[index].space_offset;
    return data + layout.arrays[index].data_offset;
  }

  // The value, in bytes, of a link to the start of an array.
  [[nodiscard]] std::uint64_t link_base(std::size_t index) const {
    switch (form_of(program.arrays[index].space)) {
      case LinkForm::kPointer:
        return address_of(index);
      case LinkForm::kOffset:
        return (is_constant(index) ? constant_place : 0) + layout.arrays[index].space_offset;
      case LinkForm::kLocal:
        return layout.arrays[index].space_offset;
      case LinkForm::kTexel:
        break;
    }
    return 0;
  }

  [[nodiscard]] FillTask fill(std::size_t index, const StagedTables& staged) const {
    const ChaseArray& array = program.arrays[index];
    FillTask task{.address = address_of(index),
                  .link_base = link_base(index),
                  .stride_bytes = array.stride_bytes,
                  .skew_bytes = array.skew_bytes,
                  .stagger_bytes = array.stagger_bytes,
                  .stagger_mask = array.stagger_window_bytes - 1,
                  .count = static_cast<std::uint32_t>(array.chain_length()),
                  .form = form_of(array.space)};
    for (const std::uint32_t chain : {0u, 1u}) {
      task.visited[chain] = static_cast<std::uint32_t>(visited_elements(program, index, chain));
      task.reversed[chain] = order_of(array, chain) == Order::kReversed ? 1 : 0;
      if (needs_table(array, chain)) task.tables[chain] = staged.address + staged.tables.offsets.at({&array, chain});
    }
    return task;
  }

  [[nodiscard]] std::uint32_t slot_of(const ChaseActor& actor) const {
    if (!actor.sm) return 0;
    return static_cast<std::uint32_t>(std::ranges::find(layout.sms, *actor.sm) - layout.sms.begin());
  }

  // Converts an offset in bytes to a link.
  [[nodiscard]] static std::uint64_t link_of(LinkForm form, std::uint64_t place) {
    if (form == LinkForm::kTexel) return place / sizeof(std::uint32_t);
    return form == LinkForm::kLocal ? place / kLocalLanes : place;
  }

  // Both chains of a local array lie in the same lines: the links of each chain in the words of one lane.
  [[nodiscard]] static std::uint32_t lane_of(const ChaseActor& actor, Space space, std::uint32_t chain) {
    return space == Space::kLocal ? (actor.lane & ~1u) + chain : actor.lane;
  }

  // The address of a chain's order, from the step's first element on.
  [[nodiscard]] static Address table_of(const StagedTables& staged, const ChaseArray& array, const ChaseStep& step) {
    return staged.address + staged.tables.offsets.at({&array, step.chain}) + step.first * sizeof(std::uint32_t);
  }

  [[nodiscard]] StepTask step(const ChaseStep& step, Address record, std::uint32_t warp_size, ChainOrders& orders,
                              const StagedTables& staged) const {
    const ChaseArray& array = program.arrays[step.array];
    const ChaseActor& actor = program.actors[step.actor];
    const std::uint64_t base = link_base(step.array);
    StepTask task{
        .base = base,
        .texture = place.textures[step.array],
        .stride_bytes = array.stride_bytes,
        .skew_bytes = array.skew_bytes,
        .stagger_bytes = array.stagger_bytes,
        .stagger_mask = array.stagger_window_bytes - 1,
        .result = record,
        .code = static_cast<std::uint32_t>(code_of(step.kind)) + kStepCodes * static_cast<std::uint32_t>(array.space),
        .thread = actor.warp * warp_size + lane_of(actor, array.space, step.chain),
        .loads = static_cast<std::uint32_t>(step.loads),
        .cap = kept_latencies(program, step),
        .slot = slot_of(actor),
        .elements = static_cast<std::uint32_t>(array.element_count())};
    if (step.kind == StepKind::kTouch) {
      task.base += step.first * array.stride_bytes;
      task.loads = static_cast<std::uint32_t>(touched_elements(array, step));
    } else if (step.kind == StepKind::kTouchChain) {
      task.table = table_of(staged, program.arrays[array.alias_of.value_or(step.array)], step);
    } else {
      const std::uint64_t element = orders.element_at(array, step.chain, step.first);
      const std::uint64_t link = base + array.element_offset(element) + sizeof(std::uint64_t) * step.chain;
      task.start = link_of(form_of(array.space), link);
    }
    return task;
  }

  [[nodiscard]] std::vector<StepTask> steps(std::uint32_t warp_size, ChainOrders& orders,
                                            const StagedTables& staged) const {
    std::vector<StepTask> tasks;
    Address record = records + layout.steps_offset();
    for (const ChaseStep& next : program.steps) {
      tasks.push_back(step(next, record, warp_size, orders, staged));
      record += step_record_bytes(program, next);
    }
    return tasks;
  }

  // The task of the block on one of the program's SMs.
  [[nodiscard]] ChaseTask task(std::uint32_t slot, Address steps, const LocalWords& local,
                               std::uint32_t patience_cycles) const {
    return {.steps = steps,
            .result = records + slot * sizeof(BlockRecord),
            .shared_image = data + layout.shared_image_offset,
            .shared_bytes = static_cast<std::uint32_t>(layout.shared_image_bytes),
            .shared_offset = layout.shared_image_place,
            .latency_offset = layout.latency_place,
            .step_count = static_cast<std::uint32_t>(program.steps.size()),
            .wanted_sm = place.wanted_sms[slot],
            .never = kNever,
            .zero = 0,
            .dry_passes = 1,
            .patience_cycles = patience_cycles,
            .slot = slot,
            .turn = layout.sms.empty() ? 0 : records + layout.turn_offset(),
            .longest_wait_cycles = kMaxWaitCycles,
            .local_count = static_cast<std::uint32_t>(local.count),
            .local_words = local.address,
            .local_image = data + layout.local_image_offset};
  }
};

// The chains of a batch that need a table of their order.
std::vector<ChainOrders::Chain> told_chains(const std::vector<ChasePlan*>& batch) {
  std::vector<ChainOrders::Chain> told;
  for (const ChasePlan* plan : batch) {
    for (std::size_t i = 0; i < plan->program->arrays.size(); ++i) {
      const ChaseArray& array = plan->program->arrays[i];
      if (array.alias_of) continue;
      for (const std::uint32_t chain : {0u, 1u}) {
        if (needs_table(array, chain)) told.push_back({&array, chain, visited_elements(*plan->program, i, chain)});
      }
    }
  }
  return told;
}

}  // namespace

std::uint64_t table_bytes(const std::vector<ChasePlan*>& batch) {
  std::uint64_t bytes = 0;
  for (const ChainOrders::Chain& chain : told_chains(batch)) {
    bytes += chain.count * sizeof(std::uint32_t) + Staging::kAlignment;
  }
  return bytes;
}

ChaseTables stage_tables(const std::vector<ChasePlan*>& batch, ChainOrders& orders) {
  ChaseTables tables;
  struct Staged {
    std::uint64_t offset = 0;
    std::uint64_t count = 0;
  };
  std::map<ChainOrders::Key, Staged> shuffles;  // already staged
  const auto stage = [&](const ChainOrders::Chain& told) {
    const auto& [array, chain, count] = told;
    if (!array->elements.empty()) return tables.staging.add(chain_order(*array, chain, count));
    Staged& staged = shuffles[ChainOrders::key_of(*array, chain)];
    if (staged.count < count) staged = {tables.staging.add(std::span(orders.shuffled(told)).first(count)), count};
    return staged.offset;
  };
  const std::vector<ChainOrders::Chain> told = told_chains(batch);
  std::vector<ChainOrders::Chain> without_list;
  std::ranges::copy_if(told, std::back_inserter(without_list),
                       [](const ChainOrders::Chain& chain) { return chain.array->elements.empty(); });
  orders.prepare(without_list);
  for (const ChainOrders::Chain& chain : told) tables.offsets[{chain.array, chain.chain}] = stage(chain);
  return tables;
}

std::uint64_t task_bytes(const std::vector<ChasePlan*>& batch) {
  std::uint64_t bytes = 0;
  for (const ChasePlan* plan : batch) {
    bytes += local_word_count(*plan->program) * sizeof(std::uint32_t) + plan->layout.slots() * sizeof(ChaseTask) +
             plan->program->arrays.size() * sizeof(FillTask) + plan->program->steps.size() * sizeof(StepTask) +
             kTaskPadding;
  }
  return bytes;
}

EncodedBatch encode(const std::vector<ChasePlan*>& batch, const BatchLayout& layout, const BatchPlace& place,
                    ChaseTables tables, ChainOrders& orders) {
  EncodedBatch encoded;
  Staging& staging = tables.staging;
  const Address staged = place.base + layout.staged;
  std::vector<FillTask> fills;
  std::vector<ChaseTask> tasks;
  const auto with_constants =
      std::ranges::find_if(batch, [](const ChasePlan* p) { return !p->layout.constants.empty(); });
  if (with_constants != batch.end()) {
    const Address data = place.base + layout.data[static_cast<std::size_t>(with_constants - batch.begin())];
    encoded.constants = data + (*with_constants)->layout.constant_offset;
  }
  for (std::size_t p = 0; p < batch.size(); ++p) {
    const ChasePlan& plan = *batch[p];
    const ChaseProgram& program = *plan.program;
    const ProgramCoder coder{.program = program,
                             .layout = plan.layout,
                             .place = place.programs[p],
                             .data = place.base + layout.data[p],
                             .bank = encoded.constants.value_or(0),
                             .constant_place = plan.constant_place,
                             .records = place.base + layout.records[p]};
    for (std::size_t i = 0; i < program.arrays.size(); ++i) {
      if (program.arrays[i].alias_of) continue;
      const FillTask& fill = fills.emplace_back(coder.fill(i, {tables, staged}));
      encoded.most_elements = std::max<std::uint64_t>({encoded.most_elements, fill.visited[0], fill.visited[1]});
    }
    const Address steps = staged + staging.add(coder.steps(place.warp_size, orders, {tables, staged}));
    LocalWords local;
    if (plan.layout.local_bytes > 0) {
      const std::vector<std::uint32_t> words = local_words(program, plan.layout);
      local = {staged + staging.add(words), words.size()};
    }
    for (std::uint32_t slot = 0; slot < plan.layout.slots(); ++slot) {
      tasks.push_back(coder.task(slot, steps, local, place.patience_cycles));
      if (tasks.back().wanted_sm != kAnySm) encoded.wanted_sms.insert(tasks.back().wanted_sm);
    }
    encoded.shared_bytes = std::max(encoded.shared_bytes, plan.layout.shared_bytes);
    encoded.local_bytes = std::max(encoded.local_bytes, plan.layout.local_bytes);
    encoded.threads = std::max(encoded.threads, plan.layout.threads);
  }
  encoded.fills = staged + staging.add(fills);
  encoded.fill_count = static_cast<std::uint32_t>(fills.size());
  encoded.tasks = staged + staging.add(tasks);
  encoded.task_count = static_cast<std::uint32_t>(tasks.size());
  encoded.bytes = std::move(staging).take();
  return encoded;
}

}  // namespace gputopo::launch
