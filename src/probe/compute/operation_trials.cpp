#include "probe/compute/operation_trials.h"

#include <algorithm>

namespace gputopo::probe {
namespace {

// Most warps of a block. Some operations take the registers of many warps.
std::uint32_t max_warps(OperationId operation, std::uint32_t of_block) {
  return warps_per_operation(info_of(operation).type) == 1 ? of_block : std::min(of_block, kMaxWarpgroupWarps);
}

// With half of the warps, and with all.
std::vector<OperationTrial> trials_of_chains(OperationId operation, std::uint32_t warps, std::uint32_t streams) {
  std::vector<OperationTrial> trials;
  for (const std::uint32_t some : {std::max(1u, warps / 2), warps}) {
    trials.push_back({.operation = operation,
                      .warps = some,
                      .streams = streams,
                      .copies = OperationTrial::kCopies,
                      .rounds_factor = OperationTrial::kLongFactor});
  }
  return trials;
}

}  // namespace

OperationTrial latency_trial(OperationId operation) {
  return {.operation = operation,
          .warps = warps_per_operation(info_of(operation).type),
          .every_sm = false,
          .copies = OperationTrial::kCopies};
}

OperationTrial longer_latency_trial(OperationId operation) {
  OperationTrial trial = latency_trial(operation);
  trial.rounds_factor = OperationTrial::kLongFactor;
  return trial;
}

std::vector<OperationTrial> first_trials(OperationId operation, std::uint32_t of_block) {
  const std::uint32_t warps = max_warps(operation, of_block);
  const std::uint32_t fewest = warps_per_operation(info_of(operation).type);
  std::vector<OperationTrial> trials = {latency_trial(operation)};
  for (std::uint32_t some = fewest; some < warps; some *= 2) {
    trials.push_back({.operation = operation, .warps = some, .rounds_factor = OperationTrial::kLongFactor});
  }
  trials.push_back({.operation = operation,
                    .warps = warps,
                    .copies = OperationTrial::kCopies,
                    .rounds_factor = OperationTrial::kLongFactor});
  return trials;
}

std::vector<OperationTrial> further_trials(OperationId operation, std::uint32_t warps) {
  return trials_of_chains(operation, warps, OperationTrial::kStreams);
}

std::vector<OperationTrial> last_trials(OperationId operation, std::uint32_t warps) {
  return trials_of_chains(operation, warps, OperationTrial::kManyStreams);
}

std::vector<OperationTrial> peak_trials(const DeviceInfo& info, std::span<const OperationId> operations) {
  std::vector<OperationTrial> trials;
  for (const OperationId id : operations) {
    const std::uint32_t warps = max_warps(id, most_operation_warps(info));
    trials.push_back({.operation = id, .warps = warps, .copies = OperationTrial::kCopies});
    if (warps_per_operation(info_of(id).type) > 1) continue;
    trials.push_back(
        {.operation = id, .warps = warps, .streams = OperationTrial::kStreams, .copies = OperationTrial::kCopies});
  }
  return trials;
}

std::uint32_t most_operation_warps(const DeviceInfo& info) {
  const std::uint64_t threads = info.max_threads_per_block.value_or(std::uint64_t{kMaxOperationWarps} * info.warp_size);
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(threads / info.warp_size, 1, kMaxOperationWarps));
}

std::vector<Program> expected_of_operations(std::span<const OperationId> operations) {
  std::vector<Program> programs;
  for (const OperationId id : operations) programs.emplace_back(latency_trial(id).program(OperationTrial::kFewRounds));
  return programs;
}

std::vector<Program> expected_of_peaks(const DeviceInfo& info, std::span<const OperationId> operations) {
  std::vector<Program> programs;
  for (const OperationTrial& trial : peak_trials(info, operations))
    programs.emplace_back(trial.program(trial.few_rounds()));
  return programs;
}

}  // namespace gputopo::probe
