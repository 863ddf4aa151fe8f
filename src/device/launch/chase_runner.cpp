#include "device/launch/chase_runner.h"

#include <algorithm>
#include <utility>

#include "device/launch/chase_decode.h"
#include "gputopo/error.h"

namespace gputopo::launch {

TextureView ChaseGpu::make_texture(Address, std::uint64_t, std::uint32_t) {
  throw NotSupportedError("this GPU's kernels read no textures");
}

void ChaseGpu::set_constants(Address, std::uint64_t) {
  throw NotSupportedError("this GPU's kernels have no bank of constants");
}

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

void ChaseRunner::run(std::span<const ChaseJob> jobs) {
  std::vector<ChasePlan> plans;
  plans.reserve(jobs.size());
  for (const ChaseJob& job : jobs) plans.push_back(plan_of(job));
  std::vector<ChasePlan*> waiting;
  for (ChasePlan& plan : plans) waiting.push_back(&plan);
  // A launch takes as long as the longest of its programs: those that take about as long go together.
  if (plans.size() > gpu_.info().sm_count) {
    std::ranges::stable_sort(waiting, std::ranges::greater(),
                             [](const ChasePlan* plan) { return plan->layout.seconds; });
  }
  while (!waiting.empty()) {
    const std::vector<ChasePlan*> batch = take_batch(waiting, gpu_.info().sm_count);
    const std::vector<ChasePlan*> again = run_batch(batch);
    if (again.size() < batch.size()) {
      waiting.insert(waiting.begin(), again.begin(), again.end());
    } else {
      // No block had an SM to itself; alone, each has.
      for (ChasePlan* plan : again) static_cast<void>(run_batch({plan}));
    }
  }
}

std::vector<ChasePlan*> ChaseRunner::run_batch(const std::vector<ChasePlan*>& batch) {
  const BatchLayout layout = lay_out(batch);
  ChaseTables tables = stage_tables(batch, orders_);
  constexpr std::uint64_t kPadding = 256;
  const ChasePlan& most =
      **std::ranges::max_element(batch, {}, [](const ChasePlan* p) { return p->layout.local_bytes; });
  if (most.layout.local_bytes > 0) gpu_.prepare_local(most.layout.local_bytes);
  const Address base = gpu_.reserve(layout.staged + tables.staging.size() + task_bytes(batch) + kPadding);
  std::vector<TextureView> textures;  // live until the launch has ended
  const BatchPlace place = place_of(batch, layout, base, textures);
  const EncodedBatch encoded = encode(batch, layout, place, std::move(tables), orders_);

  upload(base, layout, encoded.bytes);
  const double started =
      launch(*batch.front(), batch.size(), encoded, {base + layout.records_begin, layout.records_bytes});
  std::vector<std::byte> records(layout.records_bytes);
  gpu_.download(records.data(), base + layout.records_begin, layout.records_bytes);

  std::vector<ChasePlan*> again;
  std::vector<ChaseAnswer> answers = decode(batch, layout, records, gpu_.info().sm_count);
  LaunchSpan span;
  for (const ChaseAnswer& answer : answers) span.add(answer.span);
  const bool met_others = gpu_.met_others(span);
  for (std::size_t p = 0; p < batch.size(); ++p) {
    ChaseAnswer& answer = answers[p];
    // A program that met no other but itself is not helped by running again.
    if (answer.met_another && batch.size() > 1) {
      again.push_back(batch[p]);
      continue;
    }
    ChaseResult result{.steps = std::move(answer.steps), .sm = gpu_.sm_of(answer.block.sm)};
    *batch[p]->result = gpu_.answer(std::move(result), answer.block, batch[p]->carve_out_bytes, started);
    if (answer.met_another) batch[p]->result->undisturbed = false;
    gpu_.mark_company(*batch[p]->result, met_others || answer.was_stopped, span, answer.span);
  }
  return again;
}

BatchPlace ChaseRunner::place_of(const std::vector<ChasePlan*>& batch, const BatchLayout& layout, Address base,
                                 std::vector<TextureView>& textures) {
  BatchPlace place{.base = base, .warp_size = gpu_.info().warp_size, .patience_cycles = gpu_.patience_cycles()};
  for (std::size_t p = 0; p < batch.size(); ++p) {
    const ChaseProgram& program = *batch[p]->program;
    const ChaseLayout& own = batch[p]->layout;
    ChasePlace& where = place.programs.emplace_back();
    where.textures.resize(program.arrays.size());
    for (std::size_t i = 0; i < program.arrays.size(); ++i) {
      const ChaseArray& array = program.arrays[i];
      if (array.space != Space::kTexture) continue;
      const Address address = base + layout.data[p] + own.arrays[i].data_offset;
      where.textures[i] = textures.emplace_back(gpu_.make_texture(address, array.bytes, 1)).handle;
    }
    for (const std::uint32_t sm : own.sms) where.wanted_sms.push_back(gpu_.hardware_id_of(sm));
    if (own.sms.empty()) where.wanted_sms = {program.sm ? gpu_.hardware_id_of(*program.sm) : kAnySm};
  }
  return place;
}

void ChaseRunner::upload(Address base, const BatchLayout& layout, std::span<const std::byte> staged) {
  // What is staged lies behind the records: a few zeros more are faster than another call.
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
