#include "device/cuda/cluster_runner.h"

#include <fmt/format.h>

#include <algorithm>

#include "gputopo/error.h"

namespace gputopo::cuda {
namespace {

// The slowest we expect, to refuse what would take too long: a load of a whole block, the bytes of a copy.
constexpr double kCyclesPerLoad = 2000;
constexpr double kCyclesPerWarpLoad = 200;
constexpr double kCyclesPerCopiedByte = 1;

double most_cycles(const ClusterProgram& program) {
  const double accesses = static_cast<double>(program.accesses) + program.warm_accesses;
  return accesses * (kCyclesPerLoad + kCyclesPerWarpLoad * program.warps + kCyclesPerCopiedByte * program.copy_bytes);
}

ClusterResult result_of(const ClusterProgram& program, const std::vector<BlockRecord>& blocks,
                        const std::vector<WarpRecord>& warps, double clock_mhz) {
  ClusterResult result;
  std::vector<double> cycles;
  for (std::size_t block = 0; block < blocks.size(); ++block) {
    result.sms.push_back(blocks[block].sm);
    std::uint64_t start = UINT64_MAX;
    std::uint64_t end = 0;
    std::uint64_t timer = UINT64_MAX;
    for (std::size_t i = block * program.warps; i < (block + 1) * program.warps; ++i) {
      start = std::min(start, warps[i].start_cycles);
      end = std::max(end, warps[i].end_cycles);
      timer = std::min(timer, warps[i].timer_cycles);
    }
    cycles.push_back(std::max(0.0, static_cast<double>(end - start) - static_cast<double>(timer)));
    result.seconds = std::max(result.seconds, cycles.back() / (clock_mhz * 1e6));
  }
  for (std::size_t first = 0; first < blocks.size(); first += program.cluster_size) {
    const auto begin = cycles.begin() + static_cast<std::ptrdiff_t>(first);
    const double of_cluster =
        program.op == ClusterOp::kRead ? *std::max_element(begin, begin + program.cluster_size) : begin[program.reader];
    result.cycles.push_back(of_cluster / program.accesses);
  }
  const std::size_t readers = program.op == ClusterOp::kChase ? blocks.size() / program.cluster_size : blocks.size();
  result.bytes_moved = readers * program.accesses * cluster_access_bytes(program);
  return result;
}

}  // namespace

ProgramResult ClusterRunner::run(const ClusterProgram& program) {
  if (most_cycles(program) > launch::kMostLaunchCycles) {
    throw UsageError(fmt::format(
        "program: its accesses may take {:.0e} cycles, and a launch may last {:.0e}; give it fewer accesses or bytes",
        most_cycles(program), launch::kMostLaunchCycles));
  }
  if (!module_) {
    const PtxTarget target = cluster_target(gpu_.target(), gpu_.driver()->version());
    gpu_.require_clusters();
    module_.emplace(gpu_.driver(), generate_cluster_ptx(target));
  }
  const std::string name = cluster_kernel_name(program.op);
  const FunctionHandle function = module_->function(name.c_str());
  const bool bulk = program.op == ClusterOp::kBulkCopy;

  Launch launch{.blocks = program.cluster_size,
                .threads = program.op == ClusterOp::kRead ? 32 * program.warps : 1,
                .cluster_size = program.cluster_size};
  const std::uint64_t shared_bytes =
      bulk ? kBulkBarrierBytes + std::uint64_t{program.in_flight} * program.copy_bytes : program.bytes;
  // The largest carve-out, so that no SM has room for a second block.
  launch.carve_out_bytes = gpu_.carve_out_for(UINT64_MAX, shared_bytes, 1);
  launch.shared_bytes = gpu_.shared_bytes_for_one_block(launch.carve_out_bytes, shared_bytes);
  const ClusterRoom room = gpu_.cluster_room(function, launch);
  if (program.every_sm) launch.blocks *= room.clusters_at_once;

  const std::uint64_t array_bytes = bulk ? launch::round_up(program.bytes, 256) : 0;
  const std::uint64_t warps = std::uint64_t{launch.blocks} * program.warps;
  const std::uint64_t record_bytes =
      launch.blocks * sizeof(BlockRecord) + warps * sizeof(WarpRecord) + sizeof(std::uint64_t);
  const DevicePointer base = gpu_.reserve(array_bytes + record_bytes);
  const std::uint32_t unroll = bulk ? 1 : kClusterUnroll;
  ClusterParameters parameters{
      .working_set = base,
      .bytes = program.bytes,
      .share_bytes = bulk ? program.bytes / program.copy_bytes / launch.blocks * program.copy_bytes : 0,
      .records = base + array_bytes,
      .warp_records = base + array_bytes + launch.blocks * sizeof(BlockRecord),
      .arrived = base + array_bytes + record_bytes - sizeof(std::uint64_t),
      .hop = program.hop,
      .reader = program.reader,
      .copy_bytes = program.copy_bytes,
      .in_flight = program.in_flight,
      .warm_rounds = program.warm_accesses / unroll,
      .rounds = program.accesses / unroll,
      .never = kNever,
      .longest_wait_cycles = static_cast<std::uint32_t>(launch::kMostLaunchCycles)};
  gpu_.clear(base, array_bytes + record_bytes);
  gpu_.run(function, name, launch, {&parameters});

  std::vector<BlockRecord> blocks(launch.blocks);
  std::vector<WarpRecord> records(warps);
  gpu_.download(blocks.data(), parameters.records, blocks.size() * sizeof(BlockRecord));
  gpu_.download(records.data(), parameters.warp_records, records.size() * sizeof(WarpRecord));
  for (const BlockRecord& block : blocks) {
    if (block.error == kChainLost) {
      throw DeviceError(fmt::format(
          "{}: {}", name, bulk ? "a copy did not arrive" : "a load gave what the shared memory of no block holds"));
    }
    if (block.error == kStartedApart) {
      throw DeviceError(
          fmt::format("{}: {} blocks did not start together; is another program using this GPU?", name, launch.blocks));
    }
  }
  const double clock_mhz = gpu_.clock_mhz(blocks.front());
  ClusterResult result = result_of(program, blocks, records, clock_mhz);
  result.clusters_at_once = room.clusters_at_once;
  result.largest_cluster = room.largest;
  return {.data = std::move(result), .sm_clock_mhz = clock_mhz, .shared_carve_out_bytes = launch.carve_out_bytes};
}

}  // namespace gputopo::cuda
