// Transfers of a few bytes between the places of a small node.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "gputopo/error.h"
#include "gputopo/links.h"
#include "gputopo/program/transfer.h"
#include "support/message_of.h"

namespace gputopo::test {

inline constexpr Endpoint kHostMemory{EndpointKind::kHost, 0};
inline constexpr Endpoint kFirstGpu{EndpointKind::kGpu, 0};
inline constexpr Endpoint kSecondGpu{EndpointKind::kGpu, 1};

inline TransferProgram small_program(TransferOp op, std::vector<Transfer> transfers) {
  constexpr std::uint64_t kBytes = 64 << 10;
  return {.op = op, .transfers = std::move(transfers), .bytes = kBytes, .repeats = 3};
}

// Programs of each operation that moves bytes, over every kind of link that it supports.
inline std::vector<TransferProgram> programs_that_move_bytes() {
  const Transfer down{kHostMemory, kSecondGpu};
  const Transfer up{kFirstGpu, kHostMemory};
  const Transfer across{kFirstGpu, kSecondGpu};
  return {small_program(TransferOp::kCopy, {down, up, across}), small_program(TransferOp::kRead, {down, across}),
          small_program(TransferOp::kWrite, {up, across}), small_program(TransferOp::kPageableCopy, {down}),
          small_program(TransferOp::kPageableCopy, {up})};
}

// Expects an error from a node that loses copies from its first GPU to the second: the stand-ins with `bent_link`.
inline void expect_loss_is_noticed(Links& links) {
  EXPECT_NO_THROW(static_cast<void>(links.run(small_program(TransferOp::kCopy, {{kHostMemory, kFirstGpu}}))));
  EXPECT_THAT(message_of<DeviceError>(
                  "bent_link",
                  [&] {
                    static_cast<void>(links.run(small_program(TransferOp::kCopy, {{kFirstGpu, kSecondGpu}})));
                  }),
              ::testing::HasSubstr("copy from gpu0 to gpu1: the received data differ from the sent data"));
}

}  // namespace gputopo::test
