#include "device/cuda/cluster_layout.h"

#include <fmt/format.h>

#include "gputopo/error.h"
#include "model/round_up.h"

namespace gputopo::cuda {
namespace {

// The slowest costs that we expect. They serve to refuse programs that would take too long.
constexpr double kCyclesPerLoad = 2000;
constexpr double kCyclesPerWarpLoad = 200;
constexpr double kCyclesPerCopiedByte = 1;
constexpr std::uint64_t kWorkingSetAlignment = 256;

bool is_bulk(const ClusterProgram& program) { return program.op == ClusterOp::kBulkCopy; }

}  // namespace

void check_duration(const ClusterProgram& program) {
  const double accesses = static_cast<double>(program.accesses) + program.warm_accesses;
  const double most_cycles =
      accesses * (kCyclesPerLoad + kCyclesPerWarpLoad * program.warps + kCyclesPerCopiedByte * program.copy_bytes);
  if (most_cycles <= launch::kMaxLaunchCycles) return;
  throw UsageError(fmt::format(
      "program: its accesses could take {:.0e} cycles, but a launch is limited to {:.0e}; use fewer accesses or bytes",
      most_cycles, launch::kMaxLaunchCycles));
}

std::uint64_t shared_bytes_of(const ClusterProgram& program) {
  if (!is_bulk(program)) return program.bytes;
  return kBulkBarrierBytes + std::uint64_t{program.in_flight} * program.copy_bytes;
}

ClusterLayout lay_out(const ClusterProgram& program, std::uint32_t blocks) {
  ClusterLayout layout{.blocks = blocks, .warps = std::uint64_t{blocks} * program.warps};
  layout.records = is_bulk(program) ? round_up(program.bytes, kWorkingSetAlignment) : 0;
  layout.warp_records = layout.records + blocks * sizeof(BlockRecord);
  layout.arrived = layout.warp_records + layout.warps * sizeof(WarpRecord);
  layout.bytes = layout.arrived + sizeof(std::uint64_t);
  return layout;
}

ClusterParameters encode(const ClusterProgram& program, const ClusterLayout& layout, launch::Address base) {
  const bool bulk = is_bulk(program);
  const std::uint32_t unroll = bulk ? 1 : kClusterUnroll;
  return {.working_set = base,
          .bytes = program.bytes,
          .share_bytes = bulk ? program.bytes / program.copy_bytes / layout.blocks * program.copy_bytes : 0,
          .records = base + layout.records,
          .warp_records = base + layout.warp_records,
          .arrived = base + layout.arrived,
          .hop = program.hop,
          .reader = program.reader,
          .copy_bytes = program.copy_bytes,
          .in_flight = program.in_flight,
          .warm_rounds = program.warm_accesses / unroll,
          .rounds = program.accesses / unroll,
          .never = kNever,
          .longest_wait_cycles = static_cast<std::uint32_t>(launch::kMaxLaunchCycles)};
}

}  // namespace gputopo::cuda
