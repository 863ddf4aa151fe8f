// Clusters and bulk copies, on every device that has them.
#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <vector>

#include "conformance/device_conformance.h"

namespace gputopo::conformance {
namespace {

constexpr const char* kNoClusters = "the device has no clusters";

// The result, or nothing if the device has no such clusters.
std::optional<ClusterResult> cluster_of(Device& device, const ClusterProgram& program) {
  try {
    return std::get<ClusterResult>(run_one(device, program).data);
  } catch (const NotSupportedError&) {
    return std::nullopt;
  }
}

TEST_P(DeviceConformance, BlocksOfClustersHaveAnSmEach) {
  on_device([](Device& device) {
    bool any = false;
    for (std::uint32_t size = 2; size <= kMaxClusterBlocks; ++size) {
      for (const bool every_sm : {false, true}) {
        const ClusterProgram program{
            .cluster_size = size, .every_sm = every_sm, .hop = size - 1, .bytes = 1024, .accesses = 16};
        const std::optional<ClusterResult> result = cluster_of(device, program);
        if (!result) continue;
        any = true;
        SCOPED_TRACE(to_text(program));
        EXPECT_EQ(result->sms.size() % size, 0u);
        EXPECT_EQ(result->sms.size() / size, result->cycles.size());
        if (!every_sm) {
          EXPECT_EQ(result->sms.size(), size);
        }
        const std::set<std::uint32_t> different(result->sms.begin(), result->sms.end());
        EXPECT_EQ(different.size(), result->sms.size());
        EXPECT_LT(*different.rbegin(), device.info().sm_count);
        if (result->largest_cluster > 0) {
          EXPECT_GE(result->largest_cluster, size);
        }
      }
    }
    if (!any) GTEST_SKIP() << kNoClusters;
  });
}

// Another SM's shared memory is farther than the SM's own, and nearer than device memory.
TEST_P(DeviceConformance, LoadsFromAnotherBlockOfTheClusterAreTimed) {
  on_device([](Device& device) {
    ClusterProgram program{.cluster_size = 2, .every_sm = true, .bytes = 4096, .warm_accesses = 64, .accesses = 64};
    const std::optional<ClusterResult> own = cluster_of(device, program);
    program.hop = 1;
    const std::optional<ClusterResult> next = cluster_of(device, program);
    program.reader = 1;
    const std::optional<ClusterResult> back = cluster_of(device, program);
    ASSERT_EQ(own.has_value(), next.has_value());
    if (!own) GTEST_SKIP() << kNoClusters;
    for (std::size_t i = 0; i < own->cycles.size(); ++i) {
      EXPECT_GT(own->cycles[i], 15);
      EXPECT_GT(next->cycles[i], 60);
      EXPECT_LT(next->cycles[i], 1000);
      EXPECT_GT(back->cycles[i], 60);
    }
    EXPECT_EQ(next->bytes_moved, next->cycles.size() * 64 * 8);
    EXPECT_GT(next->seconds, 0);
  });
}

TEST_P(DeviceConformance, AllWarpsOfAClusterRead) {
  on_device([](Device& device) {
    for (const std::uint32_t warps : {1u, 32u}) {
      const ClusterProgram program{.op = ClusterOp::kRead,
                                   .cluster_size = 4,
                                   .every_sm = true,
                                   .hop = 1,
                                   .bytes = 32768,
                                   .warps = warps,
                                   .warm_accesses = 16,
                                   .accesses = 128};
      const std::optional<ClusterResult> result = cluster_of(device, program);
      if (!result) GTEST_SKIP() << kNoClusters;
      EXPECT_EQ(result->bytes_moved, result->sms.size() * 128 * warps * 512);
      EXPECT_LT(static_cast<double>(result->bytes_moved) / result->seconds, 1e14) << "no GPU is that fast";
      EXPECT_GT(result->cycles.at(0), 2);
    }
  });
}

TEST_P(DeviceConformance, BulkCopiesTakeLongerTheLargerTheyAre) {
  on_device([](Device& device) {
    ClusterProgram program{
        .op = ClusterOp::kBulkCopy, .bytes = 1 << 20, .copy_bytes = 16, .warm_accesses = 64, .accesses = 64};
    const std::optional<ClusterResult> small = cluster_of(device, program);
    if (!small) GTEST_SKIP() << "the device has no bulk copies";
    program.copy_bytes = 32768;
    const ClusterResult large = *cluster_of(device, program);
    EXPECT_GT(small->cycles.at(0), 50);
    EXPECT_LT(small->cycles.at(0), 5000);
    EXPECT_GT(large.cycles.at(0), small->cycles.at(0) + 32);
    EXPECT_EQ(large.bytes_moved, 64u * 32768);
    // With several copies in flight, each takes less time.
    program.copy_bytes = 1024;
    const double alone = cluster_of(device, program)->cycles.at(0);
    program.in_flight = 16;
    EXPECT_LT(cluster_of(device, program)->cycles.at(0), 0.7 * alone);
    program.every_sm = true;
    const ClusterResult all = *cluster_of(device, program);
    EXPECT_EQ(all.sms.size(), all.cycles.size());
    EXPECT_EQ(all.sms.size(), device.info().sm_count);
  });
}

TEST_P(DeviceConformance, ImpossibleClustersAreUsageErrors) {
  on_device([](Device& device) {
    const ClusterProgram good{.cluster_size = 2, .hop = 1, .bytes = 1024, .accesses = 16};
    const ClusterProgram copy{.op = ClusterOp::kBulkCopy, .bytes = 4096, .copy_bytes = 64, .accesses = 16};
    std::vector<ClusterProgram> impossible(6, good);
    impossible[0].cluster_size = 17;
    impossible[1].hop = 2;
    impossible[2].reader = 2;
    impossible[3].bytes = 100;
    impossible[4].accesses = 8;
    impossible[5].warps = 2;
    impossible.insert(impossible.end(), 5, copy);
    impossible[6].copy_bytes = 24;
    impossible[7].cluster_size = 2;
    impossible[8].in_flight = 33;
    impossible[9].in_flight = 3;
    impossible[10].bytes = 100;
    for (const ClusterProgram& program : impossible) {
      EXPECT_THROW(static_cast<void>(run_one(device, program)), UsageError) << to_text(program);
    }
  });
}

}  // namespace
}  // namespace gputopo::conformance
