#include "device/launch/access_runner.h"

#include <fmt/format.h>

#include <algorithm>

#include "gputopo/error.h"

namespace gputopo::launch {
namespace {

// The slowest we expect, to refuse what would take too long: all lanes of all warps of an SM, one after another.
constexpr double kCyclesPerLane = 100;
constexpr std::uint32_t kFillThreads = 1024;

AccessResult result_of(const AccessProgram& program, const std::vector<WarpRecord>& warps) {
  AccessResult result{.blocks = static_cast<std::uint32_t>(warps.size() / program.warps)};
  double sum = 0;
  double totals = 0;
  for (std::size_t first = 0; first < warps.size(); first += program.warps) {
    std::uint64_t start = UINT64_MAX;
    std::uint64_t end = 0;
    std::uint64_t timer = UINT64_MAX;
    for (std::size_t i = first; i < first + program.warps; ++i) {
      const WarpRecord& warp = warps[i];
      const auto cycles = static_cast<double>(warp.end_cycles - warp.start_cycles);
      const double mean =
          std::max(0.0, cycles - static_cast<double>(warp.timer_cycles)) / static_cast<double>(program.accesses);
      result.least_cycles = i == 0 ? mean : std::min(result.least_cycles, mean);
      result.most_cycles = std::max(result.most_cycles, mean);
      sum += mean;
      start = std::min(start, warp.start_cycles);
      end = std::max(end, warp.end_cycles);
      timer = std::min(timer, warp.timer_cycles);
    }
    totals += std::max(0.0, static_cast<double>(end - start) - static_cast<double>(timer));
  }
  result.mean_cycles = sum / static_cast<double>(warps.size());
  result.total_cycles = totals / result.blocks;
  return result;
}

}  // namespace

ProgramResult AccessRunner::run(const AccessProgram& program) {
  const std::uint32_t lanes = gpu_.info().warp_size;
  const double most_cycles =
      kCyclesPerLane * lanes * program.warps * (static_cast<double>(program.accesses) + program.warm_accesses);
  if (most_cycles > kMostLaunchCycles) {
    throw UsageError(fmt::format(
        "program: its accesses may take {:.0e} cycles, and a launch may last {:.0e}; give it fewer accesses or warps",
        most_cycles, kMostLaunchCycles));
  }
  const bool shared = program.space == Space::kShared;
  AccessLaunch launch{.kernel = AccessKernel{program.op, program.space}.name(),
                      .blocks = program.every_sm ? gpu_.info().sm_count : 1,
                      .threads = lanes * program.warps};
  if (launch.threads > gpu_.info().max_threads_per_block.value_or(launch.threads)) {
    throw NotSupportedError(fmt::format("{} warps of {} threads are more than the {} threads of a block", program.warps,
                                        lanes, *gpu_.info().max_threads_per_block));
  }
  const std::uint64_t shared_bytes = shared ? program.bytes : sizeof(std::uint32_t);
  launch.carve_out_bytes = gpu_.carve_out_for(program.shared_carve_out_bytes, shared_bytes, 1);
  if (program.every_sm) launch.surplus_blocks = gpu_.blocks_to_reach_every_sm() - launch.blocks;
  launch.shared_bytes = program.every_sm ? gpu_.shared_bytes_to_reach_every_sm(launch.carve_out_bytes, shared_bytes)
                                         : gpu_.shared_bytes_for_one_block(launch.carve_out_bytes, shared_bytes);

  const std::uint64_t array_bytes = shared ? 0 : round_up(program.bytes, 256);
  const std::uint64_t warps = std::uint64_t{launch.blocks} * program.warps;
  const std::uint64_t record_bytes =
      launch.blocks * sizeof(BlockRecord) + warps * sizeof(WarpRecord) + sizeof(std::uint64_t) + kClaimsBytes;
  const Address base = gpu_.reserve(array_bytes + record_bytes);
  const Address claims = base + array_bytes + record_bytes - kClaimsBytes;
  AccessParameters parameters{.working_set = base,
                              .bytes = program.bytes,
                              .hop_bytes = program.hop_bytes,
                              .records = base + array_bytes,
                              .warp_records = base + array_bytes + launch.blocks * sizeof(BlockRecord),
                              .arrived = claims - sizeof(std::uint64_t),
                              .claims = launch.surplus_blocks > 0 ? claims : 0,
                              .lane_stride = program.lane_stride_bytes,
                              .warp_stride = program.warp_stride_bytes,
                              .warm_rounds = program.warm_accesses / kAccessUnroll,
                              .rounds = program.accesses / kAccessUnroll,
                              .never = kNever,
                              .longest_wait_cycles = static_cast<std::uint32_t>(kMostLaunchCycles)};
  gpu_.clear(base + array_bytes, record_bytes);
  if (!shared && program.op == AccessOp::kLoad) {
    kernels_.launch({.kernel = "fill_links",
                     .blocks = gpu_.info().sm_count,
                     .threads = kFillThreads,
                     .carve_out_bytes = launch.carve_out_bytes},
                    parameters);
  } else if (!shared) {
    gpu_.clear(base, program.bytes);
  }
  kernels_.launch(launch, parameters);

  std::vector<BlockRecord> blocks(launch.blocks);
  std::vector<WarpRecord> records(warps);
  gpu_.download(blocks.data(), parameters.records, blocks.size() * sizeof(BlockRecord));
  gpu_.download(records.data(), parameters.warp_records, records.size() * sizeof(WarpRecord));
  for (const BlockRecord& block : blocks) {
    if (block.error == kChainLost)
      throw DeviceError(fmt::format("{}: a link led out of the working set", launch.kernel));
    if (block.error == kStartedApart) {
      throw DeviceError(fmt::format("{}: {} blocks did not start together; is another program using this GPU?",
                                    launch.kernel, launch.blocks));
    }
  }
  return {.data = result_of(program, records),
          .sm_clock_mhz = gpu_.clock_mhz(blocks.front()),
          .shared_carve_out_bytes = launch.carve_out_bytes};
}

}  // namespace gputopo::launch
