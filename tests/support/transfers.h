// Transfers of a few bytes between the places of a small node.
#pragma once

#include <utility>
#include <vector>

#include "gputopo/program/transfer.h"

namespace gputopo::test {

inline constexpr Place kHostMemory{PlaceKind::kHost, 0};
inline constexpr Place kFirstGpu{PlaceKind::kGpu, 0};
inline constexpr Place kSecondGpu{PlaceKind::kGpu, 1};

inline TransferProgram small_program(TransferOp op, std::vector<Transfer> transfers) {
  constexpr std::uint64_t kBytes = 64 << 10;
  return {.op = op, .transfers = std::move(transfers), .bytes = kBytes, .repeats = 3};
}

// Of each operation that moves bytes, over every kind of link that it has.
inline std::vector<TransferProgram> programs_that_move_bytes() {
  const Transfer down{kHostMemory, kSecondGpu};
  const Transfer up{kFirstGpu, kHostMemory};
  const Transfer across{kFirstGpu, kSecondGpu};
  return {small_program(TransferOp::kCopy, {down, up, across}), small_program(TransferOp::kRead, {down, across}),
          small_program(TransferOp::kWrite, {up, across}), small_program(TransferOp::kPageableCopy, {down}),
          small_program(TransferOp::kPageableCopy, {up})};
}

}  // namespace gputopo::test
