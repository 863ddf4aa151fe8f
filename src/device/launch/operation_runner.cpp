#include "device/launch/operation_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "device/launch/access_decode.h"
#include "device/launch/operation_layout.h"
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

// Each once.
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
    throw NotSupportedError(fmt::format("{} warps of {} threads are more than the {} threads of a block", program.warps,
                                        lanes, *gpu_.info().max_threads_per_block));
  }
  constexpr std::uint64_t kSharedBytes = sizeof(std::uint64_t);  // an mbarrier
  launch.carve_out_bytes = gpu_.carve_out_for(0, kSharedBytes, 1);
  if (program.every_sm) launch.surplus_blocks = gpu_.blocks_to_reach_every_sm() - launch.blocks;
  launch.shared_bytes = program.every_sm ? gpu_.shared_bytes_to_reach_every_sm(launch.carve_out_bytes, kSharedBytes)
                                         : gpu_.shared_bytes_for_one_block(launch.carve_out_bytes, kSharedBytes);
  if (warps_together(info_of(program.operation).type) > 1) {
    launch.shared_bytes = std::max<std::uint64_t>(launch.shared_bytes, kFactorBytes + kTensorMemoryBytes);
  }
  return launch;
}

ProgramResult OperationRunner::run(const OperationProgram& program) {
  check_duration(program);
  const OperationCode& code = kernels_.code_of(shape_of(program));
  if (!code.refusal.empty()) return gpu_.answer(OperationResult{.refusal = code.refusal}, BlockRecord{}, 0, 0);
  const OperationLaunch launch = launch_of(program);
  const OperationLayout layout = lay_out(program, launch.blocks);
  const Address base = gpu_.reserve(layout.bytes);
  const OperationParameters parameters = encode(program, layout, base, launch.surplus_blocks > 0);

  // The blocks' records begin at their common start, after the code is in its cache.
  const bool met_before = gpu_.others_still_work();
  gpu_.clear(base, layout.bytes);
  const auto operands = operands_of(program);
  gpu_.upload(base, operands.data(), operands.size() * sizeof(OperationOperands));
  gpu_.expect_download(parameters.records, layout.arrived - layout.records);
  if (program.metered) gpu_.begin_metering();
  const std::optional<double> energy_before = program.metered ? gpu_.energy_joules() : std::nullopt;
  const double started = gpu_.seconds_open();
  kernels_.launch(launch, parameters);
  const std::uint64_t waited_ns = gpu_.waited_ns();

  std::vector<BlockRecord> blocks(layout.blocks);
  std::vector<WarpRecord> warps(layout.warps);
  gpu_.download(blocks.data(), parameters.records, blocks.size() * sizeof(BlockRecord));
  gpu_.download(warps.data(), parameters.warp_records, warps.size() * sizeof(WarpRecord));
  const std::string kernel = launch.shape.kernel_name();
  for (const BlockRecord& block : blocks) check_start(block, kernel, blocks.size());
  OperationResult result = decode(program, blocks, warps, gpu_);
  result.code_bytes = code.code_bytes;
  result.instruction_bytes = code.instruction_bytes;
  if (energy_before) result.energy_joules = std::max(gpu_.energy_joules().value_or(0) - *energy_before, 0.0);
  ProgramResult answer = gpu_.answer(std::move(result), blocks.front(), launch.carve_out_bytes, started);
  if (program.metered) answer.undisturbed = true;  // a clock that power lowers is what is measured
  const bool met_after = gpu_.others_work();
  gpu_.mark_company(answer, met_before || met_after, waited_ns);
  return answer;
}

}  // namespace gputopo::launch
