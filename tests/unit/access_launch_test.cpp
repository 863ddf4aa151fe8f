// Launches of access programs without a GPU: layout, parameters, results.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/launch/access_decode.h"
#include "device/launch/access_layout.h"
#include "gputopo/error.h"
#include "support/message_of.h"

namespace gputopo::launch {
namespace {

using ::testing::HasSubstr;

const AccessProgram kAccessLoads{.op = AccessOp::kLoad,
                                 .space = Space::kGlobalBypassL1,
                                 .bytes = 1000,
                                 .lane_stride_bytes = 8,
                                 .warp_stride_bytes = 256,
                                 .hop_bytes = 512,
                                 .warps = 2,
                                 .warm_accesses = 16,
                                 .accesses = 64};

TEST(AccessLayout, RecordsLieBehindTheWorkingSet) {
  const AccessLayout layout = lay_out(kAccessLoads, 3);
  EXPECT_EQ(layout.warps, 6u);
  EXPECT_EQ(layout.records, 1024u);
  EXPECT_EQ(layout.warp_records, 1024u + 3 * 48);
  EXPECT_EQ(layout.arrived, 1024u + 3 * 48 + 6 * 24);
  EXPECT_EQ(layout.claims, layout.arrived + 8);
  EXPECT_EQ(layout.bytes, layout.claims + kClaimsBytes);
}

TEST(AccessLayout, SharedMemoryTakesNoneOfTheDevices) {
  AccessProgram program = kAccessLoads;
  program.space = Space::kShared;
  EXPECT_EQ(lay_out(program, 1).records, 0u);
}

TEST(AccessEncoding, SaysWhatLiesWhere) {
  const AccessLayout layout = lay_out(kAccessLoads, 3);
  const AccessParameters parameters = encode(kAccessLoads, layout, 0x10'000, true);
  EXPECT_EQ(parameters.working_set, 0x10'000u);
  EXPECT_EQ(parameters.bytes, 1000u);
  EXPECT_EQ(parameters.hop_bytes, 512u);
  EXPECT_EQ(parameters.records, 0x10'000u + layout.records);
  EXPECT_EQ(parameters.warp_records, 0x10'000u + layout.warp_records);
  EXPECT_EQ(parameters.arrived, 0x10'000u + layout.arrived);
  EXPECT_EQ(parameters.claims, 0x10'000u + layout.claims);
  EXPECT_EQ(parameters.lane_stride, 8u);
  EXPECT_EQ(parameters.warp_stride, 256u);
  EXPECT_EQ(parameters.warm_rounds, 1u);
  EXPECT_EQ(parameters.rounds, 4u);
  EXPECT_EQ(encode(kAccessLoads, layout, 0x10'000, false).claims, 0u) << "every block takes part";
}

TEST(AccessDuration, IsBounded) {
  AccessProgram program = kAccessLoads;
  program.accesses = 1 << 16;
  EXPECT_NO_THROW(check_duration(program, 32));
  program.warps = 32;
  EXPECT_THROW(check_duration(program, 32), UsageError);
}

TEST(AccessDecoding, LeastMeanAndMostOverWarps) {
  // Two blocks of two warps, with 64 accesses each.
  const std::vector<WarpRecord> warps = {{1000, 1000 + 6400 + 20, 20},
                                         {1100, 1100 + 12'800 + 10, 10},
                                         {50, 50 + 6400 + 20, 20},
                                         {50, 50 + 19'200 + 20, 20}};
  const AccessResult result = decode(kAccessLoads, warps);
  EXPECT_EQ(result.blocks, 2u);
  EXPECT_DOUBLE_EQ(result.least_cycles, 100);
  EXPECT_DOUBLE_EQ(result.most_cycles, 300);
  EXPECT_DOUBLE_EQ(result.mean_cycles, (100 + 200 + 100 + 300) / 4.0);
  // From the first start of a block to its last end, minus the cheaper of its two clock readings.
  EXPECT_DOUBLE_EQ(result.total_cycles, (12'900 + 19'200) / 2.0);
}

TEST(AccessDecoding, NothingIsShorterThanTheTimer) {
  const AccessResult result = decode(kAccessLoads, {{100, 110, 20}, {100, 164 + 20, 20}});
  EXPECT_EQ(result.least_cycles, 0);
  EXPECT_EQ(result.most_cycles, 1);
}

TEST(AccessDecoding, WhatWentWrongIsTold) {
  const auto problem_of = [](std::uint32_t error) {
    return test::message_of<DeviceError>("blocks", [&] { check_blocks({{}, {.error = error}}, "load_shared"); });
  };
  EXPECT_THAT(problem_of(kChainLost), HasSubstr("load_shared: a pointer of the chain led outside the working set"));
  EXPECT_THAT(problem_of(kStartedApart), HasSubstr("load_shared: 2 blocks did not start together"));
  EXPECT_NO_THROW(check_blocks({{}, {}}, "load_shared"));
}

}  // namespace
}  // namespace gputopo::launch
