#include "kernel_model/occupancy.h"

namespace gputopo::kernel_model {
namespace {

std::uint64_t parts_of(std::uint64_t whole, std::uint64_t part) { return part == 0 ? 0 : (whole + part - 1) / part; }
std::uint64_t rounded_up(std::uint64_t number, std::uint64_t unit) {
  return unit == 0 ? number : parts_of(number, unit) * unit;
}

std::uint64_t warps_by_registers(const SmLimits& sm, const BlockNeeds& block) {
  const std::uint64_t of_warp = rounded_up(block.registers_per_thread * sm.warp_size, sm.register_unit);
  return of_warp == 0 || sm.schedulers == 0 ? 0 : sm.registers / sm.schedulers / of_warp * sm.schedulers;
}

}  // namespace

std::string_view to_string(OccupancyLimit limit) {
  constexpr std::string_view kNames[] = {"warps", "blocks", "registers", "shared memory", "threads per block"};
  return kNames[static_cast<std::size_t>(limit)];
}

Occupancy occupancy(const SmLimits& sm, const BlockNeeds& block) {
  Occupancy result;
  result.warps_per_block = parts_of(block.threads, sm.warp_size);
  if (block.threads > sm.threads_per_block || result.warps_per_block == 0) {
    return {0, result.warps_per_block, OccupancyLimit::kThreadsPerBlock};
  }
  result.blocks = sm.warps / result.warps_per_block;
  const auto limit_to = [&](std::uint64_t blocks, OccupancyLimit limit) {
    if (blocks < result.blocks) result = {blocks, result.warps_per_block, limit};
  };
  limit_to(sm.blocks, OccupancyLimit::kBlocks);
  if (block.registers_per_thread > 0) {
    limit_to(warps_by_registers(sm, block) / result.warps_per_block, OccupancyLimit::kRegisters);
  }
  if (block.shared_bytes > 0) {
    const std::uint64_t of_block = rounded_up(block.shared_bytes + sm.shared_reserved_bytes, sm.shared_unit);
    limit_to(sm.shared_bytes / of_block, OccupancyLimit::kSharedMemory);
  }
  return result;
}

}  // namespace gputopo::kernel_model
