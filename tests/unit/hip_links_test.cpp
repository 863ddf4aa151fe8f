// Links of AMD GPUs on the fake runtime, which moves the bytes and follows the chains.
#include "device/hip/hip_links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gputopo/error.h"
#include "gputopo/node.h"
#include "support/fake_hip.h"
#include "support/message_of.h"
#include "support/transfers.h"

namespace gputopo {
namespace {

using test::FakeHip;
using test::kFirstGpu;
using test::kHostMemory;
using test::kSecondGpu;
using test::small_program;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::Gt;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Lt;
using ::testing::SizeIs;

TEST(HipLinks, SayWhatTheNodeIsMadeOf) {
  const FakeHip fake("gpus=3");
  const std::unique_ptr<Links> links = hip::open_hip_links();
  const NodeInfo& info = links->info();
  ASSERT_THAT(info.gpus, SizeIs(3));
  EXPECT_EQ(info.gpus[2].spec, "hip:2");
  ASSERT_THAT(info.peers, SizeIs(6));
  EXPECT_TRUE(info.peer(2, 0)->is_reachable);
  EXPECT_EQ(info.peer(2, 0)->has_atomics, true);
}

TEST(HipLinks, AnswerEveryOperationBetweenEveryTwoPlaces) {
  const FakeHip fake("gpus=2");
  const std::unique_ptr<Links> links = hip::open_hip_links();
  const Transfer down{kHostMemory, kSecondGpu};
  const Transfer up{kFirstGpu, kHostMemory};
  const Transfer across{kFirstGpu, kSecondGpu};
  for (const TransferProgram& program : test::programs_that_move_bytes()) {
    const std::vector<double> seconds = links->run(program).seconds;
    EXPECT_THAT(seconds, SizeIs(program.transfers.size())) << to_string(program.op);
    EXPECT_THAT(seconds, Each(AllOf(Gt(0), Lt(10)))) << to_string(program.op);
  }
  constexpr double kSecondsOfAccess = 800e-9;  // of the fake: 80 ticks of a 100 MHz clock
  constexpr std::size_t kCus = 104;
  for (const Transfer& transfer : {down, across}) {
    for (const TransferOp op : {TransferOp::kLoad, TransferOp::kAtomic}) {
      const std::vector<double> seconds = links->run(small_program(op, {transfer})).seconds;
      EXPECT_THAT(seconds, AllOf(SizeIs(kCus), Each(testing::DoubleNear(kSecondsOfAccess, 1e-12)))) << to_string(op);
    }
  }
  for (const Transfer& transfer : {up, across}) {
    EXPECT_THAT(links->run(small_program(TransferOp::kStore, {transfer})).seconds,
                AllOf(SizeIs(1), Each(testing::DoubleNear(kSecondsOfAccess, 1e-12))));
  }
  EXPECT_THAT(links->warnings(), IsEmpty());
}

TEST(HipLinks, AreMeasuredAsThoseOfOthers) {
  const FakeHip fake("gpus=2");
  const std::unique_ptr<Links> links = hip::open_hip_links();
  NodeReport report;
  measure_links(*links, {}, report);
  EXPECT_TRUE(report.complete);
  const LinkReport* link = report.link(kFirstGpu, kSecondGpu);
  ASSERT_NE(link, nullptr);
  constexpr double kFakeBytesPerSecond = 50e9;
  EXPECT_NEAR(find(link->attributes, "copy_bandwidth")->number().value_or(0), kFakeBytesPerSecond, 1e8);
  EXPECT_NEAR(find(link->attributes, "sm_read_bandwidth")->number().value_or(0), kFakeBytesPerSecond, 1e8);
  EXPECT_NEAR(find(link->attributes, "load_latency")->number().value_or(0), 800, 1);
}

TEST(HipLinks, NoticeThatNothingArrived) {
  const FakeHip fake("bent_link");
  test::expect_loss_is_noticed(*hip::open_hip_links());
}

TEST(HipLinks, SayWhereTransfersCannotBeHeldBack) {
  const FakeHip fake("no_gate");
  const std::unique_ptr<Links> links = hip::open_hip_links();
  EXPECT_NO_THROW(static_cast<void>(links->run(small_program(TransferOp::kCopy, {{kHostMemory, kFirstGpu}}))));
  EXPECT_THAT(links->warnings(), SizeIs(1));
}

TEST(HipLinks, TimeNoAccessesWithoutAClock) {
  const FakeHip fake("no_wall_clock");
  const std::unique_ptr<Links> links = hip::open_hip_links();
  EXPECT_NO_THROW(static_cast<void>(links->run(small_program(TransferOp::kCopy, {{kHostMemory, kFirstGpu}}))));
  EXPECT_THAT(test::message_of<NotSupportedError>(
                  "no_wall_clock",
                  [&] {
                    static_cast<void>(links->run(small_program(TransferOp::kLoad, {{kHostMemory, kFirstGpu}})));
                  }),
              HasSubstr("the frequency of the wall clock"));
}

// If nobody handles its event, a memory fault ends the process or leaves a waiting thread waiting.
TEST(HipLinks, AFaultIsTheEndOfAll) {
  // A forked child would inherit a condition variable and wait forever for earlier tests' threads, which it lacks.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const FakeHip fake("memory_fault=3");
        const std::unique_ptr<Links> links = hip::open_hip_links();
        try {
          static_cast<void>(links->run(small_program(TransferOp::kRead, {{kHostMemory, kFirstGpu}})));
        } catch (const DeviceLostError& error) {
          std::fprintf(stderr, "%s\n", error.what());
          std::_Exit(0);
        }
        std::_Exit(1);
      },
      testing::ExitedWithCode(0), "memory access fault");
}

}  // namespace
}  // namespace gputopo
