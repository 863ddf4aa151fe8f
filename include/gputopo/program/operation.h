// Chains of arithmetic: how long an operation takes, and how many an SM does at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gputopo/operation.h"

namespace gputopo {

struct OperationResult;

// Operations of which each waits for the one before, in straight lines of operations_per_round(), which each warp runs
// `rounds` times. Always runs alone.
struct OperationProgram {
  static constexpr std::string_view kKind = "operation";
  using Result = OperationResult;

  OperationId operation = OperationId::kAddF32;
  // Of every other chain, beside it. Not set: all chains are of the same.
  std::optional<OperationId> beside;
  std::uint32_t streams = 1;  // chains of a warp, which do not wait for one another; their operations take turns
  std::uint32_t warps = 1;    // of a block
  // Groups of lanes of a warp that do each round's operations apart, each on a side of a branch of its own.
  std::uint32_t sides = 1;
  bool every_sm = false;           // a block on every SM, all together; else one block, or one cluster of blocks
  std::uint32_t cluster_size = 0;  // NVIDIA: blocks of a cluster, each with an SM of its own; 0: no cluster
  std::uint32_t rounds = 1;        // timed, after one that is not
  bool metered = false;            // the energy that the GPU takes meanwhile is told too
  friend bool operator==(const OperationProgram&, const OperationProgram&) = default;
};

inline constexpr std::uint32_t kMaxOperationStreams = 8;
inline constexpr std::uint32_t kMaxOperationWarps = 32;
// Of operations that warps do together: each lane has hundreds of registers.
inline constexpr std::uint32_t kMaxWarpgroupWarps = 8;
inline constexpr std::uint32_t kMaxOperationSides = 32;
inline constexpr std::uint32_t kMaxOperationRounds = 1u << 16;

// Whether an operation of it is a sequence of instructions on every GPU, or one that may take hundreds of cycles.
[[nodiscard]] bool has_sequences(const OperationProgram& program);
// Of one side of a warp, all of its chains together. What the loop adds is to vanish beside them, and they are to fit
// the nearest instruction cache: fewer of what is a sequence of instructions.
[[nodiscard]] std::uint32_t operations_per_round(const OperationProgram& program);

struct OperationResult {
  std::vector<std::uint32_t> sms;  // where each block ran
  // By block: from the first start of a warp to the last end, the timer's own cost taken off.
  std::vector<double> cycles;
  // Of the machine code of a round as the device compiled it, and of one instruction there; 0: the device does not
  // tell.
  double code_bytes = 0;
  double instruction_bytes = 0;
  double energy_joules = 0;  // of the whole GPU, to a tenth of a second of it or so; 0: not told
  // The device has not this operation, or its compiler refuses it: why; nothing else is set then.
  std::string refusal;
  friend bool operator==(const OperationResult&, const OperationResult&) = default;
};

}  // namespace gputopo
