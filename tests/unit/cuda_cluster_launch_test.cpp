// Launches of cluster programs without a GPU: layout, parameters, results.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/cuda/cluster_decode.h"
#include "device/cuda/cluster_layout.h"
#include "gputopo/error.h"
#include "support/message_of.h"

namespace gputopo::cuda {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const ClusterProgram kClusterCopies{.op = ClusterOp::kBulkCopy,
                                    .bytes = 100'000,
                                    .copy_bytes = 1024,
                                    .in_flight = 4,
                                    .warm_accesses = 16,
                                    .accesses = 32};
const ClusterProgram kClusterReads{.op = ClusterOp::kRead,
                                   .cluster_size = 2,
                                   .hop = 1,
                                   .bytes = 4096,
                                   .warps = 2,
                                   .warm_accesses = 16,
                                   .accesses = 32};

TEST(ClusterLayout, OnlyBulkCopiesHaveAWorkingSetInDeviceMemory) {
  const ClusterLayout reads = lay_out(kClusterReads, 4);
  EXPECT_EQ(reads.warps, 8u);
  EXPECT_EQ(reads.records, 0u);
  EXPECT_EQ(reads.warp_records, 4u * 48);
  EXPECT_EQ(reads.arrived, 4u * 48 + 8 * 24);
  EXPECT_EQ(reads.bytes, reads.arrived + 8);
  EXPECT_EQ(shared_bytes_of(kClusterReads), 4096u);
  EXPECT_EQ(lay_out(kClusterCopies, 4).records, 100'096u);
  EXPECT_EQ(shared_bytes_of(kClusterCopies), 256u + 4 * 1024) << "the barriers and what is under way";
}

TEST(ClusterEncoding, SharesAndRounds) {
  const ClusterParameters copies = encode(kClusterCopies, lay_out(kClusterCopies, 4), 0x10'000);
  EXPECT_EQ(copies.working_set, 0x10'000u);
  EXPECT_EQ(copies.records, 0x10'000u + 100'096);
  EXPECT_EQ(copies.share_bytes, 24u * 1024) << "97 whole copies among 4 blocks";
  EXPECT_EQ(copies.warm_rounds, 16u);
  EXPECT_EQ(copies.rounds, 32u);
  const ClusterParameters reads = encode(kClusterReads, lay_out(kClusterReads, 4), 0x10'000);
  EXPECT_EQ(reads.share_bytes, 0u);
  EXPECT_EQ(reads.hop, 1u);
  EXPECT_EQ(reads.warm_rounds, 1u);
  EXPECT_EQ(reads.rounds, 2u);
}

TEST(ClusterDuration, IsBounded) {
  ClusterProgram program = kClusterReads;
  program.accesses = 400'000;
  EXPECT_NO_THROW(check_duration(program));
  program.accesses = 500'000;
  EXPECT_THROW(check_duration(program), UsageError);
}

// Two clusters of two blocks with the program's number of warps. The i-th warp takes 1000 * (i + 1) cycles.
std::vector<WarpRecord> cluster_warps(std::size_t count) {
  std::vector<WarpRecord> warps;
  for (std::size_t i = 0; i < count; ++i) warps.push_back({100, 100 + 20 + 1000 * (i + 1), 20});
  return warps;
}
const std::vector<BlockRecord> kClusterBlocks = {{.sm = 8}, {.sm = 9}, {.sm = 2}, {.sm = 3}};

TEST(ClusterDecoding, AReadIsAsSlowAsItsSlowestBlock) {
  const ClusterResult result = decode(kClusterReads, kClusterBlocks, cluster_warps(8), 1000);
  EXPECT_THAT(result.sms, ElementsAre(8, 9, 2, 3));
  EXPECT_THAT(result.cycles, ElementsAre(4000 / 32.0, 8000 / 32.0));
  EXPECT_DOUBLE_EQ(result.seconds, 8000 / 1e9);
  EXPECT_EQ(result.bytes_moved, 4u * 32 * cluster_access_bytes(kClusterReads));
}

TEST(ClusterDecoding, AChaseIsItsReaders) {
  ClusterProgram chase = kClusterReads;
  chase.op = ClusterOp::kChase;
  chase.warps = 1;
  chase.reader = 1;
  const ClusterResult result = decode(chase, kClusterBlocks, cluster_warps(4), 1000);
  EXPECT_THAT(result.cycles, ElementsAre(2000 / 32.0, 4000 / 32.0));
  EXPECT_EQ(result.bytes_moved, 2u * 32 * cluster_access_bytes(chase)) << "one reader a cluster";
}

TEST(ClusterDecoding, WhatWentWrongIsTold) {
  const auto problem_of = [](const ClusterProgram& program, std::uint32_t error) {
    return test::message_of<DeviceError>("blocks", [&] { check_blocks(program, {{}, {.error = error}}, "kernel"); });
  };
  EXPECT_THAT(problem_of(kClusterCopies, kChainLost), HasSubstr("kernel: a bulk copy did not complete"));
  EXPECT_THAT(problem_of(kClusterReads, kChainLost), HasSubstr("a value that is not in any block's shared memory"));
  EXPECT_THAT(problem_of(kClusterReads, kStartedApart), HasSubstr("kernel: 2 blocks did not start together"));
}

}  // namespace
}  // namespace gputopo::cuda
