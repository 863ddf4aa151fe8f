// Transfers as data: validity, text, possible answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gputopo/error.h"
#include "program/transfer_fields.h"
#include "support/message_of.h"
#include "support/transfers.h"

namespace gputopo {
namespace {

using ::testing::HasSubstr;

using test::kFirstGpu;
using test::kHostMemory;
using test::kSecondGpu;

TransferProgram copy_of(std::vector<Transfer> transfers) {
  return {.op = TransferOp::kCopy, .transfers = std::move(transfers), .bytes = 4096, .repeats = 2};
}

TEST(Transfer, HasATextThatIsReadBack) {
  const TransferProgram program = copy_of({{kHostMemory, kFirstGpu}, {kFirstGpu, kSecondGpu}});
  EXPECT_EQ(to_text(program), "transfer op=copy bytes=4096 repeats=2 transfer=host:0:gpu:0 transfer=gpu:0:gpu:1");
  EXPECT_EQ(parse_transfer(to_text(program)), program);
}

TEST(Transfer, RefusesTextOfOtherThings) {
  for (const char* text : {"", "chase op=copy", "transfer op=fly", "transfer bytes=1 bytes", "transfer transfer=host:0",
                           "transfer transfer=moon:0:gpu:1", "transfer bytes=99999999999999999999"}) {
    test::message_of<FormatError>(text, [&] { static_cast<void>(parse_transfer(text)); });
  }
}

TEST(Transfer, RefusesWhatIsImpossible) {
  const auto refusal = [](TransferProgram program) {
    return test::message_of<UsageError>(to_text(program), [&] { validate(program); });
  };
  TransferProgram program = copy_of({{kHostMemory, kFirstGpu}});
  EXPECT_NO_THROW(validate(program));
  program.bytes = 100;
  EXPECT_THAT(refusal(program), HasSubstr("bytes"));
  program = copy_of({{kHostMemory, kFirstGpu}});
  program.repeats = 0;
  EXPECT_THAT(refusal(program), HasSubstr("repeats"));
  EXPECT_THAT(refusal(copy_of({})), HasSubstr("transfers"));
  EXPECT_THAT(refusal(copy_of({{kFirstGpu, kFirstGpu}})), HasSubstr("two different ends"));
  EXPECT_THAT(refusal(copy_of({{kHostMemory, {EndpointKind::kHost, 1}}})), HasSubstr("GPU at one end"));
  program = copy_of({{kFirstGpu, kHostMemory}});
  program.op = TransferOp::kRead;  // the host has no SMs
  EXPECT_THAT(refusal(program), HasSubstr("at the end that performs this operation"));
  program = copy_of({{kHostMemory, kFirstGpu}});
  program.op = TransferOp::kStore;
  EXPECT_THAT(refusal(program), HasSubstr("at the end that performs this operation"));
  program = copy_of({{kFirstGpu, kSecondGpu}, {kSecondGpu, kFirstGpu}});
  program.op = TransferOp::kLoad;
  EXPECT_THAT(refusal(program), HasSubstr("exactly one entry for this operation"));
  program = copy_of({{kFirstGpu, kSecondGpu}});
  program.op = TransferOp::kPageableCopy;
  EXPECT_THAT(refusal(program), HasSubstr("the host at one end"));
}

TEST(Transfer, KnowsWhatCannotBeAnAnswer) {
  const TransferProgram two = copy_of({{kHostMemory, kFirstGpu}, {kFirstGpu, kSecondGpu}});
  EXPECT_EQ(result_mismatch(two, {.seconds = {1e-3, 2e-3}}), "");
  EXPECT_THAT(result_mismatch(two, {.seconds = {1e-3}}), HasSubstr("each transfer"));
  EXPECT_THAT(result_mismatch(two, {.seconds = {1e-3, 0}}), HasSubstr("time of 0 s"));
  EXPECT_THAT(result_mismatch(two, {.seconds = {1e-3, -1}}), HasSubstr("which is impossible"));
  EXPECT_THAT(result_mismatch(two, {.seconds = {1e-320, 1e-3}}), HasSubstr("which is impossible"));
  EXPECT_THAT(result_mismatch(two, {.seconds = {1e300, 1e-3}}), HasSubstr("which is impossible"));
  TransferProgram load = copy_of({{kFirstGpu, kSecondGpu}});
  load.op = TransferOp::kLoad;
  EXPECT_EQ(result_mismatch(load, {.seconds = {1e-6, 1e-6, 1e-6}}), "");
  EXPECT_THAT(result_mismatch(load, {.seconds = {}}), HasSubstr("no SM"));
}

}  // namespace
}  // namespace gputopo
