#include "device/sim/programs/operation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

namespace gputopo::sim {
namespace {

const OperationSpec* find(const ComputeSpec& compute, OperationId id) {
  const auto found = compute.operations.find(std::string(to_string(id)));
  return found == compute.operations.end() ? nullptr : &found->second;
}

// Cycles that one scheduler's part of a pipe needs for an operation of a whole warp.
double pipe_cycles(const ComputeSpec& compute, const OperationSpec& operation, std::uint32_t warp_lanes) {
  const double lanes =
      operation.lanes_per_cycle > 0 ? operation.lanes_per_cycle : compute.pipes.at(operation.pipe).lanes_per_cycle;
  return warp_lanes * compute.schedulers / lanes;
}

double latency_of(const OperationSpec& operation, std::size_t blocks) {
  return operation.latency_cycles + static_cast<double>(blocks - 1) * operation.block_cycles;
}

// Cycles of a round, for the scheduler with the most warps.
double round_cycles(const ComputeSpec& compute, const std::vector<const OperationSpec*>& chains, double operations,
                    double warps, std::size_t blocks, std::uint32_t warp_lanes, std::uint32_t together) {
  const double of_chain = operations / static_cast<double>(chains.size());
  double waiting = 0;  // time of the slowest chain
  double issuing = 0;
  double busiest = 0;
  std::map<std::string, double> pipes;
  for (const OperationSpec* chain : chains) {
    waiting = std::max(waiting, of_chain * latency_of(*chain, blocks));
    // Warps that do an operation together wait for the last of them, and then for all results of the round.
    if (together > 1) {
      const double own = std::ceil(static_cast<double>(together) / compute.schedulers);
      waiting = std::max(waiting, of_chain * own * pipe_cycles(compute, *chain, warp_lanes)) + compute.wait_cycles;
    }
    issuing += warps * of_chain * chain->instructions * compute.issue_cycles;
    busiest = std::max(busiest, pipes[chain->pipe] += warps * of_chain * pipe_cycles(compute, *chain, warp_lanes));
  }
  return std::max({waiting + compute.loop_cycles, issuing, busiest});
}

}  // namespace

OperationResult simulate_operation(const ComputeSpec& compute, const DeviceInfo& info, const OperationProgram& program,
                                   Noise& noise) {
  std::vector<const OperationSpec*> chains;
  double instructions = 0;
  const double operations = operations_per_round(program);
  for (std::uint32_t stream = 0; stream < program.streams; ++stream) {
    const OperationId id = program.beside && stream % 2 == 1 ? *program.beside : program.operation;
    chains.push_back(find(compute, id));
    if (chains.back() == nullptr) return {.refusal = fmt::format("{} does not support this operation", info.name)};
    instructions += operations / program.streams * chains.back()->instructions;
  }
  const std::size_t blocks = program.every_sm ? info.sm_count : std::max(program.cluster_size, 1u);
  const double warps = std::ceil(static_cast<double>(program.warps) / compute.schedulers);
  const std::uint32_t together = warps_per_operation(info_of(program.operation).type);
  const double of_side = round_cycles(compute, chains, operations, warps, blocks, info.warp_size, together);
  const double cycles = program.rounds * (program.sides * of_side + (program.sides - 1) * compute.side_cycles);
  OperationResult result{.code_bytes = program.sides * instructions * compute.instruction_bytes,
                         .instruction_bytes = static_cast<double>(compute.instruction_bytes)};
  for (std::uint32_t sm = 0; sm < blocks; ++sm) {
    // All rounds of a block are timed together, by one pair of clock readings, so they get the noise of one load.
    StepBehaviour block(1);
    block.add(cycles, false, 0);
    result.sms.push_back(sm);
    result.cycles.push_back(std::max(1.0, noise.total_cycles(block)));
  }
  return result;
}

}  // namespace gputopo::sim
