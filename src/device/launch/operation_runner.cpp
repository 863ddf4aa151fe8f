#include "device/launch/operation_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "device/launch/access_decode.h"
#include "device/launch/row.h"
#include "gputopo/error.h"

namespace gputopo::launch {
namespace {

OperationResult decode(const OperationProgram& program, const std::vector<BlockRecord>& blocks,
                       const std::vector<WarpRecord>& warps, const LaunchGpu& gpu) {
  OperationResult result;
  for (std::size_t block = 0; block < blocks.size(); ++block) {
    result.sms.push_back(gpu.sm_of(blocks[block].sm));
    result.cycles.push_back(span_of(warps, block * program.warps, program.warps).cycles());
  }
  return result;
}

// Without duplicates.
std::vector<OperationShape> shapes_of(std::span<const Program> programs) {
  std::set<OperationShape> shapes;
  for (const Program& program : programs) {
    if (const auto* operation = std::get_if<OperationProgram>(&program)) shapes.insert(shape_of(*operation));
  }
  return {shapes.begin(), shapes.end()};
}

}  // namespace

void OperationRunner::prepare(std::span<const Program> programs) {
  const std::vector<OperationShape> shapes = shapes_of(programs);
  if (!shapes.empty()) kernels_.prepare(shapes);
}

void OperationRunner::expect(std::span<const Program> programs) {
  const std::vector<OperationShape> shapes = shapes_of(programs);
  if (!shapes.empty()) kernels_.expect(shapes);
}

OperationLaunch OperationRunner::launch_of(const OperationProgram& program) const {
  const std::uint32_t lanes = gpu_.info().warp_size;
  OperationLaunch launch{.shape = shape_of(program),
                         .blocks = program.every_sm ? gpu_.info().sm_count : std::max(program.cluster_size, 1u),
                         .cluster_size = program.cluster_size,
                         .threads = lanes * program.warps};
  if (launch.threads > gpu_.info().max_threads_per_block.value_or(launch.threads)) {
    throw NotSupportedError(fmt::format("{} warps of {} threads exceed the {} threads that a block may have",
                                        program.warps, lanes, *gpu_.info().max_threads_per_block));
  }
  constexpr std::uint64_t kSharedBytes = sizeof(std::uint64_t);  // an mbarrier
  launch.carve_out_bytes = gpu_.carve_out_for(0, kSharedBytes, 1);
  if (program.every_sm) launch.surplus_blocks = gpu_.blocks_to_reach_every_sm() - launch.blocks;
  launch.shared_bytes = program.every_sm ? gpu_.shared_bytes_to_reach_every_sm(launch.carve_out_bytes, kSharedBytes)
                                         : gpu_.shared_bytes_for_one_block(launch.carve_out_bytes, kSharedBytes);
  if (warps_per_operation(info_of(program.operation).type) > 1) {
    launch.shared_bytes = std::max<std::uint64_t>(launch.shared_bytes, kFactorBytes + kTensorMemoryBytes);
  }
  return launch;
}

std::uint64_t OperationRunner::run_row(const std::vector<Placed>& row, std::uint64_t bytes,
                                       std::vector<ProgramResult>& results) {
  const Address base = gpu_.reserve(bytes);
  const auto parameters_of = [&](const Placed& placed) {
    return encode(*placed.program, placed.layout, base + placed.offset, placed.launch.surplus_blocks > 0);
  };
  const bool metered = row.front().program->metered;  // all are, or none
  // The blocks' records do not show an earlier wait: they begin at the common start, after the code is in its cache.
  const bool met_before = gpu_.is_gpu_still_contended();
  gpu_.clear(base, bytes);
  if (metered) gpu_.begin_metering();
  const std::optional<double> energy_before = metered ? gpu_.energy_joules() : std::nullopt;
  // Uploads come before all launches, because they may wait for earlier launches.
  for (const Placed& placed : row) {
    const auto operands = operands_of(*placed.program);
    gpu_.upload(base + placed.offset, operands.data(), operands.size() * sizeof(OperationOperands));
  }
  std::vector<double> started;
  {
    const HeldLaunches held(gpu_);
    for (const Placed& placed : row) {
      const OperationParameters parameters = parameters_of(placed);
      started.push_back(gpu_.seconds_open());
      kernels_.launch(placed.launch, parameters);
    }
    gpu_.expect_download(base, bytes);
    gpu_.finish_launches();
  }
  const double joules = energy_before ? std::max(gpu_.energy_joules().value_or(0) - *energy_before, 0.0) : 0;
  const std::uint64_t waited_ns = gpu_.waited_ns();
  const std::size_t first = results.size();
  for (std::size_t i = 0; i < row.size(); ++i) {
    const OperationLaunch& launch = row[i].launch;
    const OperationParameters parameters = parameters_of(row[i]);
    std::vector<BlockRecord> blocks(row[i].layout.blocks);
    std::vector<WarpRecord> warps(row[i].layout.warps);
    gpu_.download(blocks.data(), parameters.records, blocks.size() * sizeof(BlockRecord));
    gpu_.download(warps.data(), parameters.warp_records, warps.size() * sizeof(WarpRecord));
    const std::string kernel = launch.shape.kernel_name();
    for (const BlockRecord& block : blocks) check_start(block, kernel, blocks.size());
    OperationResult result = decode(*row[i].program, blocks, warps, gpu_);
    const OperationCode& code = kernels_.code_of(launch.shape);
    result.code_bytes = code.code_bytes;
    result.instruction_bytes = code.instruction_bytes;
    result.energy_joules = joules / static_cast<double>(row.size());
    results.push_back(gpu_.answer(std::move(result), blocks.front(), launch.carve_out_bytes, started[i]));
    if (metered) results.back().undisturbed = true;  // the clock that power lowers is part of the measurement
  }
  const bool met_after = gpu_.is_gpu_contended();
  for (ProgramResult& answer : std::span(results).subspan(first)) {
    gpu_.mark_contention(answer, met_before || met_after, row.size() == 1 ? waited_ns : UINT64_MAX);
  }
  return waited_ns;
}

std::vector<ProgramResult> OperationRunner::run(std::span<const OperationProgram* const> programs) {
  std::vector<ProgramResult> results;
  const auto run_placed = [&](const std::vector<Placed>& placed, std::uint64_t bytes) {
    return run_row(placed, bytes, results);
  };
  Row<Placed> quick(run_placed);
  // Keeps the GPU at work without a pause.
  constexpr RowParameters kMetered{.wanted_ns = 500'000'000, .first_programs = 512, .most_programs = 512};
  Row<Placed> metered(run_placed, kMetered);
  for (const OperationProgram* program : programs) {
    check_duration(*program);
    (program->metered ? quick : metered).end();  // results come in the order of the programs
    Row<Placed>& row = program->metered ? metered : quick;
    const OperationCode& code = kernels_.code_of(shape_of(*program));
    if (!code.refusal.empty()) {
      row.end();
      results.push_back(gpu_.answer(OperationResult{.refusal = code.refusal}, BlockRecord{}, 0, 0));
      continue;
    }
    const OperationLaunch launch = launch_of(*program);
    row.add({program, launch, lay_out(*program, launch.blocks)});
  }
  quick.end();
  metered.end();
  return results;
}

}  // namespace gputopo::launch
