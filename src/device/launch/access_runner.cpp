#include "device/launch/access_runner.h"

#include <fmt/format.h>

#include "device/launch/access_decode.h"
#include "device/launch/row.h"
#include "gputopo/error.h"

namespace gputopo::launch {
namespace {

constexpr std::uint32_t kFillThreads = 1024;

}  // namespace

AccessLaunch AccessRunner::launch_of(const AccessProgram& program) const {
  const std::uint32_t lanes = gpu_.info().warp_size;
  const std::uint32_t wide_bytes = program.load_bytes > sizeof(std::uint32_t) ? program.load_bytes : 0;
  AccessLaunch launch{.kernel = AccessKernel{program.op, program.space, wide_bytes}.name(),
                      .blocks = program.every_sm ? gpu_.info().sm_count : 1,
                      .threads = lanes * program.warps,
                      .bank_mode_bytes = program.bank_mode_bytes};
  if (launch.threads > gpu_.info().max_threads_per_block.value_or(launch.threads)) {
    throw NotSupportedError(fmt::format("{} warps of {} threads exceed the {} threads that a block may have",
                                        program.warps, lanes, *gpu_.info().max_threads_per_block));
  }
  const std::uint64_t shared_bytes = program.space == Space::kShared ? program.bytes : sizeof(std::uint32_t);
  launch.carve_out_bytes = gpu_.carve_out_for(program.shared_carve_out_bytes, shared_bytes, 1);
  if (program.every_sm) launch.surplus_blocks = gpu_.blocks_to_reach_every_sm() - launch.blocks;
  launch.shared_bytes = program.every_sm ? gpu_.shared_bytes_to_reach_every_sm(launch.carve_out_bytes, shared_bytes)
                                         : gpu_.shared_bytes_for_one_block(launch.carve_out_bytes, shared_bytes);
  return launch;
}

void AccessRunner::fill(const AccessProgram& program, const AccessParameters& parameters,
                        std::uint64_t carve_out_bytes) {
  if (program.space == Space::kShared) return;  // the blocks fill their own
  if (program.space == Space::kConstant) {
    std::vector<std::uint32_t> links;
    for (std::uint64_t at = 0; at < program.bytes; at += sizeof(std::uint32_t)) {
      links.push_back(static_cast<std::uint32_t>((at + program.hop_bytes) % program.bytes));
    }
    gpu_.upload(parameters.working_set, links.data(), program.bytes);
    return kernels_.set_constants(parameters.working_set, program.bytes);
  }
  if (program.op != AccessOp::kLoad) return gpu_.clear(parameters.working_set, program.bytes);
  kernels_.launch({.kernel = "fill_links",
                   .blocks = gpu_.info().sm_count,
                   .threads = kFillThreads,
                   .carve_out_bytes = carve_out_bytes},
                  parameters);
}

AccessRunner::Placed AccessRunner::place(const AccessProgram& program) const {
  check_duration(program, gpu_.info().warp_size);
  const AccessLaunch launch = launch_of(program);
  return {&program, launch, lay_out(program, launch.blocks)};
}

std::uint64_t AccessRunner::run_row(const std::vector<Placed>& row, std::uint64_t bytes,
                                    std::vector<ProgramResult>& results) {
  const Address base = gpu_.reserve(bytes);
  const auto parameters_of = [&](const Placed& placed) {
    return encode(*placed.program, placed.layout, base + placed.offset, placed.launch.surplus_blocks > 0);
  };
  // The blocks' records do not show an earlier wait: they begin at the common start, after the caches are warm.
  const bool met_before = gpu_.is_gpu_still_contended();
  std::vector<double> started;
  {
    const HeldLaunches held(gpu_);
    for (const Placed& placed : row) {
      const AccessParameters parameters = parameters_of(placed);
      gpu_.clear(parameters.records, placed.layout.bytes - placed.layout.records);
      fill(*placed.program, parameters, placed.launch.carve_out_bytes);
      started.push_back(gpu_.seconds_open());
      kernels_.launch(placed.launch, parameters);
    }
    gpu_.expect_download(base, bytes);
    gpu_.finish_launches();
  }
  const std::uint64_t waited_ns = gpu_.waited_ns();
  const std::size_t first = results.size();
  for (std::size_t i = 0; i < row.size(); ++i) {
    const AccessParameters parameters = parameters_of(row[i]);
    std::vector<BlockRecord> blocks(row[i].layout.blocks);
    std::vector<WarpRecord> warps(row[i].layout.warps);
    gpu_.download(blocks.data(), parameters.records, blocks.size() * sizeof(BlockRecord));
    gpu_.download(warps.data(), parameters.warp_records, warps.size() * sizeof(WarpRecord));
    check_blocks(blocks, row[i].launch.kernel);
    results.push_back(
        gpu_.answer(decode(*row[i].program, warps), blocks.front(), row[i].launch.carve_out_bytes, started[i]));
  }
  const bool met_after = gpu_.is_gpu_contended();
  for (ProgramResult& answer : std::span(results).subspan(first)) {
    gpu_.mark_contention(answer, met_before || met_after, row.size() == 1 ? waited_ns : UINT64_MAX);
  }
  return waited_ns;
}

std::vector<ProgramResult> AccessRunner::run(std::span<const AccessProgram* const> programs) {
  std::vector<ProgramResult> results;
  Row<Placed> row(
      [&](const std::vector<Placed>& placed, std::uint64_t bytes) { return run_row(placed, bytes, results); });
  for (const AccessProgram* program : programs) row.add(place(*program));
  row.end();
  return results;
}

}  // namespace gputopo::launch
