#include "device/sim/programs/occupancy_simulator.h"

#include <algorithm>
#include <cmath>

#include "model/round_up.h"

namespace gputopo::sim {
namespace {

// Registers of a kernel besides the values that it keeps. On AMD GPUs the program asks for the total.
std::uint32_t own_registers(const DeviceInfo& info) { return info.vendor == "AMD" ? 0 : 16; }

// Blocks that the registers allow: each scheduler gives its own registers to its share of the warps.
std::uint32_t blocks_by_registers(const ComputeSpec& compute, std::uint64_t registers_per_sm, std::uint64_t registers,
                                  std::uint32_t warps, std::uint32_t lanes) {
  const std::uint64_t of_warp = round_up(registers * lanes, compute.register_unit);
  const std::uint64_t of_scheduler = registers_per_sm / compute.schedulers / of_warp;
  const std::uint64_t most_of_a_block = (warps + compute.schedulers - 1) / compute.schedulers;
  const bool is_spread_evenly = warps % compute.schedulers == 0;
  return static_cast<std::uint32_t>(is_spread_evenly ? of_scheduler / most_of_a_block
                                                     : of_scheduler * compute.schedulers / warps);
}

}  // namespace

OccupancyResult simulate_occupancy(const MachineSpec& spec, const DeviceInfo& info, const OccupancyProgram& program,
                                   std::uint64_t carve_out_bytes) {
  const ComputeSpec& compute = *spec.compute;
  const std::uint32_t warps = (program.threads + info.warp_size - 1) / info.warp_size;
  std::uint32_t blocks =
      std::min<std::uint32_t>(static_cast<std::uint32_t>(*info.max_blocks_per_sm),
                              static_cast<std::uint32_t>(*info.max_threads_per_sm) / (warps * info.warp_size));
  OccupancyResult result;
  if (program.registers > 0) {
    result.registers = program.registers + own_registers(info);
    const std::uint64_t of_sm = compute.register_count > 0 ? compute.register_count : *info.registers_per_sm;
    blocks = std::min(blocks, blocks_by_registers(compute, of_sm, result.registers, warps, info.warp_size));
  }
  if (program.shared_bytes > 0) {
    const std::uint64_t of_block =
        round_up(program.shared_bytes + info.shared_reserved_bytes_per_block.value_or(0), compute.shared_unit);
    const std::uint64_t all = carve_out_bytes > 0 ? carve_out_bytes : info.shared_bytes_per_sm.value_or(of_block);
    blocks = std::min(blocks, static_cast<std::uint32_t>(all / of_block));
  }
  blocks = std::min(blocks, program.blocks_per_sm);
  // The reading is right after the timer moved, so it is a multiple of the step.
  constexpr double kMoments = 1000;
  const double timer_ns = kMoments * compute.timer_step_ns;
  const double cycles = timer_ns * info.sm_clock_max_mhz.value_or(1000) / 1000;
  for (std::uint32_t sm = 0; sm < info.sm_count; ++sm) {
    result.sms.push_back(sm);
    result.resident.push_back(blocks);
    if (!program.clocks) continue;
    const double offset = sm < compute.clock_offsets_cycles.size() ? compute.clock_offsets_cycles[sm] : 0;
    result.timer_ns.push_back(timer_ns);
    result.clock_cycles.push_back(std::floor((cycles + offset) / compute.clock_step_cycles) *
                                  compute.clock_step_cycles);
    result.timer_step_ns.push_back(compute.timer_step_ns);
    result.clock_read_cycles.push_back(compute.clock_read_cycles);
    result.clock_step_cycles.push_back(compute.clock_step_cycles);
  }
  return result;
}

}  // namespace gputopo::sim
