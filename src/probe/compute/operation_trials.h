// The ways to run an operation, each by so many chains and warps.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gputopo/device.h"
#include "gputopo/program.h"

namespace gputopo::probe {

// A way to run an operation.
struct OperationTrial {
  static constexpr std::uint32_t kFewRounds = 2;
  static constexpr std::uint32_t kManyRounds = 6;
  // So many times as many, of the table's trials on all SMs. What two units do together ends in steps of a warp's share
  // of a round, each SM in another. More: smaller steps, and longer launches, in which power lowers the clock.
  static constexpr std::uint32_t kLongFactor = 4;
  static constexpr std::uint32_t kCopies = 3;
  // Where SMs take turns, all of them in one of two rhythms for a launch (membar.sys on an H200: 32768 in 55900 cycles
  // or in 64400). The quickest of fewer is now of one, now of the other.
  static constexpr std::uint32_t kManyCopies = 64;
  static constexpr std::uint32_t kStreams = 4;  // where warps alone are too few
  // Where these nearly fill a unit (packed f16 on an H100: 92% of it; with eight chains 98%).
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
  // The same operation is understood.
  [[nodiscard]] bool is_same_way(const OperationTrial& other) const {
    return warps == other.warps && streams == other.streams;
  }
  [[nodiscard]] std::uint32_t chains() const { return warps * streams; }
  [[nodiscard]] std::uint32_t few_rounds() const { return rounds_factor * kFewRounds; }
  [[nodiscard]] std::uint32_t many_rounds() const { return rounds_factor * kManyRounds; }
};

// One chain, of as many warps as do one together.
[[nodiscard]] OperationTrial latency_trial(OperationId operation);
// The same for longer, where that was disturbed: code that comes first from memory takes a smaller part of it.
[[nodiscard]] OperationTrial longer_latency_trial(OperationId operation);
// And of ever more, up to those of a block.
[[nodiscard]] std::vector<OperationTrial> first_trials(OperationId operation, std::uint32_t of_block);
// Of some chains each.
[[nodiscard]] std::vector<OperationTrial> further_trials(OperationId operation, std::uint32_t warps);
// Of an operation that so many a clock are almost all that its unit can do.
[[nodiscard]] std::vector<OperationTrial> last_trials(OperationId operation, std::uint32_t warps);
// The most warps, of one chain and of some.
[[nodiscard]] std::vector<OperationTrial> peak_trials(const DeviceInfo& info, std::span<const OperationId> operations);

// As many as a block may have, on this device.
[[nodiscard]] std::uint32_t most_operation_warps(const DeviceInfo& info);

// The first programs of measure_operations() and of measure_peaks() are among these, for Device::expect().
[[nodiscard]] std::vector<Program> expected_of_operations(std::span<const OperationId> operations);
[[nodiscard]] std::vector<Program> expected_of_peaks(const DeviceInfo& info, std::span<const OperationId> operations);

}  // namespace gputopo::probe
