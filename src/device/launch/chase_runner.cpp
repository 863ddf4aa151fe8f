#include "device/launch/chase_runner.h"

#include <algorithm>
#include <utility>

#include "device/driver/beside.h"
#include "device/launch/chase_decode.h"
#include "gputopo/error.h"

namespace gputopo::launch {

ChasePlan ChaseRunner::plan_of(const ChaseJob& job) const {
  const ChaseProgram& program = *job.program;
  gpu_.check(program);
  ChasePlan plan{.program = &program,
                 .result = job.result,
                 .layout = lay_out(program, gpu_.info().warp_size),
                 .alone = program.exclusive || !gpu_.may_run_beside_others(program)};
  plan.carve_out_bytes = gpu_.carve_out_for(program.shared_carve_out_bytes, plan.layout.shared_bytes, 1);
  return plan;
}

namespace {

// The most local memory that a warp of any program needs.
std::uint64_t local_bytes_of(const std::vector<ChasePlan*>& plans) {
  const auto bytes_of = [](const ChasePlan* plan) { return plan->layout.local_bytes; };
  return bytes_of(*std::ranges::max_element(plans, {}, bytes_of));
}

}  // namespace

void ChaseRunner::run(std::span<const ChaseJob> jobs) {
  std::vector<ChasePlan> plans;
  plans.reserve(jobs.size());
  for (const ChaseJob& job : jobs) plans.push_back(plan_of(job));
  std::vector<ChasePlan*> waiting;
  for (ChasePlan& plan : plans) waiting.push_back(&plan);
  // A launch takes as long as its longest program, so programs of similar duration go together.
  if (plans.size() > gpu_.info().sm_count) {
    std::ranges::stable_sort(waiting, std::ranges::greater(),
                             [](const ChasePlan* plan) { return plan->layout.seconds; });
  }
  // The host writes the next batch while one runs.
  std::optional<Prepared> next;
  while (next || !waiting.empty()) {
    Prepared prepared = next ? *std::exchange(next, std::nullopt) : prepare(take_batch(waiting, gpu_.info().sm_count));
    const Batch& batch = *prepared.batch;
    const EncodedBatch encoded = prepared.encoded.get();
    next = prepare_next(waiting, batch);
    const std::vector<ChasePlan*> again = run_batch(batch, encoded);
    if (again.size() < batch.plans.size()) {
      waiting.insert(waiting.begin(), again.begin(), again.end());
      continue;
    }
    // No block had an SM to itself. Each has one if it runs alone.
    if (next) waiting.insert(waiting.begin(), next->batch->plans.begin(), next->batch->plans.end());
    next.reset();
    for (ChasePlan* plan : again) {
      Prepared one = prepare({plan});
      static_cast<void>(run_batch(*one.batch, one.encoded.get()));
    }
  }
}

std::unique_ptr<ChaseRunner::Batch> ChaseRunner::lay_out_batch(std::vector<ChasePlan*> plans) {
  constexpr std::uint64_t kPadding = 256;
  auto batch = std::make_unique<Batch>(Batch{.plans = std::move(plans)});
  batch->layout = lay_out(batch->plans);
  batch->bytes = batch->layout.staged + table_bytes(batch->plans) + task_bytes(batch->plans) + kPadding;
  return batch;
}

ChaseRunner::Prepared ChaseRunner::prepare(std::vector<ChasePlan*> plans) {
  Prepared prepared{.batch = lay_out_batch(std::move(plans))};
  if (const std::uint64_t bytes = local_bytes_of(prepared.batch->plans); bytes > 0) gpu_.prepare_local(bytes);
  place_at(*prepared.batch, gpu_.reserve(prepared.batch->bytes));
  prepared.encoded = std::async(std::launch::deferred, [this, &batch = *prepared.batch] { return write(batch); });
  return prepared;
}

std::optional<ChaseRunner::Prepared> ChaseRunner::prepare_next(std::vector<ChasePlan*>& waiting, const Batch& before) {
  // Starting a thread takes some 50 us, and writing a program 5.
  constexpr std::size_t kWorthAThread = 32;
  if (waiting.size() < kWorthAThread) return std::nullopt;
  std::vector<ChasePlan*> rest = waiting;
  Prepared next{.batch = lay_out_batch(take_batch(rest, gpu_.info().sm_count))};
  const std::vector<ChasePlan*>& plans = next.batch->plans;
  if (plans.size() < kWorthAThread || next.batch->bytes > before.bytes || local_bytes_of(plans) > 0) {
    return std::nullopt;
  }
  waiting = std::move(rest);
  place_at(*next.batch, before.place.base);
  next.encoded = begin_beside([this, &batch = *next.batch] { return write(batch); });
  return next;
}

EncodedBatch ChaseRunner::write(const Batch& batch) {
  return encode(batch.plans, batch.layout, batch.place, stage_tables(batch.plans, orders_), orders_);
}

std::vector<ChasePlan*> ChaseRunner::run_batch(const Batch& batch, const EncodedBatch& encoded) {
  const BatchLayout& layout = batch.layout;
  const Address base = batch.place.base;
  upload(base, layout, encoded.bytes);
  const double started =
      launch(*batch.plans.front(), batch.plans.size(), encoded, {base + layout.records_begin, layout.records_bytes});
  // Kept from batch to batch, because allocating such memory takes the host as long as copying it.
  if (records_.size() < layout.records_bytes) records_.resize(layout.records_bytes);
  const std::span<std::byte> records = std::span(records_).first(layout.records_bytes);
  gpu_.download(records.data(), base + layout.records_begin, layout.records_bytes);

  std::vector<ChasePlan*> again;
  std::vector<ChaseAnswer> answers = decode(batch.plans, layout, records, gpu_.info().sm_count);
  LaunchSpan span;
  for (const ChaseAnswer& answer : answers) span.add(answer.span);
  const bool saw_contention = gpu_.saw_contention(span);
  for (std::size_t p = 0; p < batch.plans.size(); ++p) {
    ChasePlan& plan = *batch.plans[p];
    ChaseAnswer& answer = answers[p];
    // A program that met only itself gains nothing from another run.
    if (answer.met_another && batch.plans.size() > 1) {
      again.push_back(&plan);
      continue;
    }
    ChaseResult result{.steps = std::move(answer.steps), .sm = gpu_.sm_of(answer.block.sm)};
    *plan.result = gpu_.answer(std::move(result), answer.block, plan.carve_out_bytes, started);
    if (answer.met_another) plan.result->undisturbed = false;
    gpu_.mark_contention(*plan.result, saw_contention || answer.was_stopped, span, answer.span);
  }
  return again;
}

void ChaseRunner::place_at(Batch& batch, Address base) {
  batch.place = {.base = base, .warp_size = gpu_.info().warp_size, .patience_cycles = gpu_.patience_cycles()};
  for (std::size_t p = 0; p < batch.plans.size(); ++p) {
    const ChaseProgram& program = *batch.plans[p]->program;
    const ChaseLayout& own = batch.plans[p]->layout;
    ChasePlace& where = batch.place.programs.emplace_back();
    where.textures.resize(program.arrays.size());
    for (std::size_t i = 0; i < program.arrays.size(); ++i) {
      const ChaseArray& array = program.arrays[i];
      if (array.space != Space::kTexture) continue;
      const Address address = base + batch.layout.data[p] + own.arrays[i].data_offset;
      where.textures[i] = batch.textures.emplace_back(gpu_.make_texture(address, array.bytes, 1)).handle;
    }
    for (const std::uint32_t sm : own.sms) where.wanted_sms.push_back(gpu_.hardware_id_of(sm));
    if (own.sms.empty()) where.wanted_sms = {program.sm ? gpu_.hardware_id_of(*program.sm) : kAnySm};
  }
}

void ChaseRunner::upload(Address base, const BatchLayout& layout, std::span<const std::byte> staged) {
  // The staged bytes lie behind the records: a few more zeros are faster than another call.
  constexpr std::uint64_t kFewBytes = 32 * 1024;
  const std::uint64_t between = layout.staged - layout.records_begin;
  if (between > kFewBytes) {
    gpu_.clear(base + layout.records_begin, layout.records_bytes);
    gpu_.upload(base + layout.staged, staged.data(), staged.size());
    return;
  }
  std::vector<std::byte> image(between + staged.size());
  std::ranges::copy(staged, image.begin() + static_cast<std::ptrdiff_t>(between));
  gpu_.upload(base + layout.records_begin, image.data(), image.size());
}

double ChaseRunner::launch(const ChasePlan& first, std::size_t programs, const EncodedBatch& encoded, Records records) {
  gpu_.launch_fill(encoded.fills, encoded.fill_count, encoded.most_elements);
  if (encoded.constants) gpu_.set_constants(*encoded.constants, encoded.local_bytes);

  const bool named = first.program->sm.has_value() || !first.layout.sms.empty();
  const std::uint64_t shared_bytes =
      named ? gpu_.shared_bytes_to_reach_every_sm(first.carve_out_bytes, encoded.shared_bytes)
            : gpu_.shared_bytes_for_one_block(first.carve_out_bytes, encoded.shared_bytes);
  gpu_.expect_download(records.begin, records.bytes);
  const double started = gpu_.seconds_open();
  gpu_.launch_chase({.tasks = encoded.tasks,
                     .task_count = encoded.task_count,
                     .by_block = !named,
                     .blocks = named ? gpu_.blocks_to_reach_every_sm() : static_cast<std::uint32_t>(programs),
                     .threads = encoded.threads,
                     .shared_bytes = shared_bytes,
                     .local_bytes = encoded.local_bytes,
                     .carve_out_bytes = first.carve_out_bytes,
                     .l2_fetch_bytes = first.program->l2_fetch_bytes,
                     .wanted_sms = encoded.wanted_sms});
  return started;
}

}  // namespace gputopo::launch
