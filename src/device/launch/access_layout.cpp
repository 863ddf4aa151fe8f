#include "device/launch/access_layout.h"

#include <fmt/format.h>

#include "gputopo/error.h"
#include "model/round_up.h"

namespace gputopo::launch {
namespace {

// Slowest expected rate, to refuse programs that take too long: all lanes of all warps of an SM, one after another.
constexpr double kCyclesPerLane = 100;
constexpr std::uint64_t kWorkingSetAlignment = 256;

}  // namespace

void check_duration(const AccessProgram& program, std::uint32_t lanes) {
  const double most_cycles =
      kCyclesPerLane * lanes * program.warps * (static_cast<double>(program.accesses) + program.warm_accesses);
  if (most_cycles <= kMaxLaunchCycles) return;
  throw UsageError(fmt::format(
      "program: its accesses could take {:.0e} cycles, but a launch is limited to {:.0e}; use fewer accesses or warps",
      most_cycles, kMaxLaunchCycles));
}

AccessLayout lay_out(const AccessProgram& program, std::uint32_t blocks) {
  AccessLayout layout{.blocks = blocks, .warps = std::uint64_t{blocks} * program.warps};
  layout.records = program.space == Space::kShared ? 0 : round_up(program.bytes, kWorkingSetAlignment);
  layout.warp_records = layout.records + blocks * sizeof(BlockRecord);
  layout.arrived = layout.warp_records + layout.warps * sizeof(WarpRecord);
  layout.claims = layout.arrived + sizeof(std::uint64_t);
  layout.bytes = layout.claims + kClaimsBytes;
  return layout;
}

AccessParameters encode(const AccessProgram& program, const AccessLayout& layout, Address base, bool claims) {
  return {.working_set = base,
          .bytes = program.bytes,
          .hop_bytes = program.hop_bytes,
          .records = base + layout.records,
          .warp_records = base + layout.warp_records,
          .arrived = base + layout.arrived,
          .claims = claims ? base + layout.claims : 0,
          .lane_stride = program.lane_stride_bytes,
          .warp_stride = program.warp_stride_bytes,
          .warm_rounds = program.warm_accesses / kAccessUnroll,
          .rounds = program.accesses / kAccessUnroll,
          .never = kNever,
          .longest_wait_cycles = static_cast<std::uint32_t>(kMaxLaunchCycles)};
}

}  // namespace gputopo::launch
