// Chains of operations: their latency, and how many an SM runs at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gputopo/operation.h"

namespace gputopo {

struct OperationResult;

// Chains of dependent operations: each warp runs operations_per_round() of them `rounds` times. Always runs alone.
struct OperationProgram {
  static constexpr std::string_view kKind = "operation";
  using Result = OperationResult;

  OperationId operation = OperationId::kAddF32;
  // The operation of every second chain. Unset: all chains have the same operation.
  std::optional<OperationId> beside;
  std::uint32_t streams = 1;  // independent chains per warp, whose operations alternate
  std::uint32_t warps = 1;    // per block
  // Groups of lanes of a warp that run each round's operations separately, each in its own branch.
  std::uint32_t sides = 1;
  bool every_sm = false;  // one block on each SM at the same time; otherwise one block, or one cluster of blocks
  std::uint32_t cluster_size = 0;  // NVIDIA: blocks per cluster, each on its own SM; 0: no cluster
  std::uint32_t rounds = 1;        // timed rounds, after one untimed round
  bool metered = false;            // whether the result includes the energy that the GPU used
  friend bool operator==(const OperationProgram&, const OperationProgram&) = default;
};

inline constexpr std::uint32_t kMaxOperationStreams = 8;
inline constexpr std::uint32_t kMaxOperationWarps = 32;
// For operations by several warps: each lane has hundreds of registers.
inline constexpr std::uint32_t kMaxWarpgroupWarps = 8;
inline constexpr std::uint32_t kMaxOperationSides = 32;
inline constexpr std::uint32_t kMaxOperationRounds = 1u << 16;

// Whether one of its operations is a sequence of instructions on every GPU, or may take hundreds of cycles.
[[nodiscard]] bool has_sequences(const OperationProgram& program);
// Operations per side of a warp, over all of its chains. The cost of the loop should be negligible, and the code
// should fit the nearest instruction cache, so there are fewer if an operation is a sequence of instructions.
[[nodiscard]] std::uint32_t operations_per_round(const OperationProgram& program);

struct OperationResult {
  std::vector<std::uint32_t> sms;  // the SM of each block
  // Per block: from the first start of a warp to the last end, without the timer cost.
  std::vector<double> cycles;
  // Bytes of one round in compiled machine code, and of one instruction; 0: the device does not report them.
  double code_bytes = 0;
  double instruction_bytes = 0;
  double energy_joules = 0;  // of the whole GPU, accurate to that of about a tenth of a second; 0: unknown
  // The reason if the device lacks this operation or its compiler rejects it. Nothing else is set then.
  std::string refusal;
  friend bool operator==(const OperationResult&, const OperationResult&) = default;
};

}  // namespace gputopo
