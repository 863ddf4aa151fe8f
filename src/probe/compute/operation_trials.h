// The ways to run an operation: by numbers of chains and warps.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gputopo/device.h"
#include "gputopo/program.h"

namespace gputopo::probe {

struct OperationTrial {
  static constexpr std::uint32_t kFewRounds = 2;
  static constexpr std::uint32_t kManyRounds = 6;
  // Factor on both numbers of rounds for the table's trials on all SMs. The joint work of two units ends in steps of a
  // warp's share of a round, different on each SM. Larger values shrink the steps; in long launches power cuts clocks.
  static constexpr std::uint32_t kLongFactor = 4;
  static constexpr std::uint32_t kCopies = 3;
  // Copies when SMs take turns. All SMs of a launch are in one of two rhythms (membar.sys on an H200: 32768 in 55900
  // or 64400 cycles), and the fastest of few copies may show either.
  static constexpr std::uint32_t kManyCopies = 64;
  static constexpr std::uint32_t kStreams = 4;  // if warps alone are too few
  // If kStreams chains nearly fill a unit (packed f16 on an H100: to 92%; with eight chains to 98%).
  static constexpr std::uint32_t kManyStreams = 8;

  OperationId operation = OperationId::kAddF32;
  std::uint32_t warps = 1;
  std::uint32_t streams = 1;
  bool every_sm = true;
  std::uint32_t copies = 1;
  std::uint32_t rounds_factor = 1;

  [[nodiscard]] OperationProgram program(std::uint32_t rounds) const {
    return {.operation = operation, .streams = streams, .warps = warps, .every_sm = every_sm, .rounds = rounds};
  }
  // Assumes the same operation.
  [[nodiscard]] bool is_same_way(const OperationTrial& other) const {
    return warps == other.warps && streams == other.streams;
  }
  [[nodiscard]] std::uint32_t chains() const { return warps * streams; }
  [[nodiscard]] std::uint32_t few_rounds() const { return rounds_factor * kFewRounds; }
  [[nodiscard]] std::uint32_t many_rounds() const { return rounds_factor * kManyRounds; }
};

// One chain, on the warps that execute one operation together.
[[nodiscard]] OperationTrial latency_trial(OperationId operation);
// The same with more rounds, after a disturbance: code that is first fetched from memory weighs less.
[[nodiscard]] OperationTrial longer_latency_trial(OperationId operation);
// The latency trial, and trials with more and more warps up to those of a block.
[[nodiscard]] std::vector<OperationTrial> first_trials(OperationId operation, std::uint32_t of_block);
// Trials of several chains per warp.
[[nodiscard]] std::vector<OperationTrial> further_trials(OperationId operation, std::uint32_t warps);
// Trials of more chains, for an operation that nearly fills its unit.
[[nodiscard]] std::vector<OperationTrial> last_trials(OperationId operation, std::uint32_t warps);
// The most warps, with one chain and with several.
[[nodiscard]] std::vector<OperationTrial> peak_trials(const DeviceInfo& info, std::span<const OperationId> operations);

// The most warps that a block can have on this device.
[[nodiscard]] std::uint32_t most_operation_warps(const DeviceInfo& info);

// These contain the first programs of measure_operations() and measure_peaks(), for Device::expect().
[[nodiscard]] std::vector<Program> expected_of_operations(std::span<const OperationId> operations);
[[nodiscard]] std::vector<Program> expected_of_peaks(const DeviceInfo& info, std::span<const OperationId> operations);

}  // namespace gputopo::probe
