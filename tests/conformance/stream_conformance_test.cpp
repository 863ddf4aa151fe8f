// Streams, on every device.
#include <gtest/gtest.h>

#include "conformance/device_conformance.h"

namespace gputopo::conformance {
namespace {

TEST_P(DeviceConformance, StreamsMoveWhatTheySay) {
  on_device([](Device& device) {
    for (const StreamOp op : {StreamOp::kRead, StreamOp::kWrite, StreamOp::kCopy}) {
      for (const std::uint32_t vector_bytes : {4u, 16u}) {
        const StreamProgram program{.op = op, .bytes = 8 << 20, .vector_bytes = vector_bytes, .repeats = 2};
        const StreamResult result = stream_of(run_one(device, program));
        EXPECT_EQ(result.bytes_moved, (op == StreamOp::kCopy ? 2u : 1u) * 2 * (8 << 20));
        EXPECT_GT(result.seconds, 0);
        EXPECT_GT(result.cycles, 0);
        EXPECT_LT(static_cast<double>(result.bytes_moved) / result.seconds, 1e14) << "no GPU is that fast";
      }
    }
  });
}

TEST_P(DeviceConformance, ACopyMayWriteToFewBytesAgainAndAgain) {
  on_device([](Device& device) {
    const StreamProgram program{.op = StreamOp::kCopy, .bytes = 64 << 20, .write_span_bytes = 4 << 20};
    EXPECT_EQ(stream_of(run_one(device, program)).bytes_moved, 2u * (64 << 20));
    StreamProgram longer = program;
    longer.write_span_bytes = program.bytes + 1;
    EXPECT_THROW(static_cast<void>(run_one(device, longer)), UsageError);
  });
}

TEST_P(DeviceConformance, AStreamPerBlockMovesEachBlocksBytes) {
  on_device([](Device& device) {
    const StreamProgram program{
        .bytes = 4096, .per_block = true, .blocks_per_sm = 1, .threads_per_block = 256, .repeats = 10};
    EXPECT_EQ(stream_of(run_one(device, program)).bytes_moved, std::uint64_t{4096} * 10 * device.info().sm_count);
  });
}

// More bytes than the caches that the vendor reports, or than any known cache, but less than the smallest memory.
std::uint64_t more_than_caches(const DeviceInfo& info) {
  constexpr std::uint64_t kMoreThanAny = 384 << 20;
  constexpr std::uint64_t kTimes = 4;
  const bool may_have_more = info.vendor == "AMD" && !info.l3_bytes;
  const std::uint64_t told = std::max(info.l2_bytes.value_or(0), info.l3_bytes.value_or(0));
  return told == 0 || may_have_more ? kMoreThanAny : std::min(kMoreThanAny, kTimes * told);
}

TEST_P(DeviceConformance, AColdPassIsNoFasterThanMemory) {
  on_device([](Device& device) {
    const std::uint64_t evict_bytes = more_than_caches(device.info());
    const auto rate_of = [&](const StreamProgram& program) {
      const StreamResult result = stream_of(run_one(device, program));
      EXPECT_EQ(result.bytes_moved, program.repeats * program.bytes);
      return static_cast<double>(result.bytes_moved) / result.seconds;
    };
    StreamProgram program{.bytes = 1 << 20, .evict_bytes = evict_bytes, .sms = 1, .repeats = 3};
    constexpr double kNoise = 1.1;
    EXPECT_LT(rate_of(program), kNoise * rate_of({.bytes = evict_bytes, .sms = 1, .repeats = 1}));
    program.op = StreamOp::kWrite;
    EXPECT_THROW(static_cast<void>(run_one(device, program)), UsageError);
  });
}

TEST_P(DeviceConformance, OneSmStreamsOverAllOfTheBytes) {
  on_device([](Device& device) {
    StreamProgram program{.bytes = 4 << 20, .sms = 1, .repeats = 3};
    const StreamResult one = stream_of(run_one(device, program));
    EXPECT_EQ(one.bytes_moved, 3u * (4 << 20));
    EXPECT_GT(one.seconds, 0);
    program.blocks_per_sm = 2;
    EXPECT_THROW(static_cast<void>(run_one(device, program)), UsageError);
  });
}

}  // namespace
}  // namespace gputopo::conformance
