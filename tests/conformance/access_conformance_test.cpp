// Accesses of whole warps, on every device that supports them.
#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

#include "conformance/device_conformance.h"

namespace gputopo::conformance {
namespace {

constexpr const char* kNoAccesses = "the device knows no accesses of whole warps";

// The result, or nothing if the device does not support such accesses.
std::optional<AccessResult> access_of(Device& device, const AccessProgram& program) {
  try {
    return std::get<AccessResult>(run_one(device, program).data);
  } catch (const NotSupportedError&) {
    return std::nullopt;
  }
}

TEST_P(DeviceConformance, AccessesOfManyWarpsAreTimed) {
  on_device([](Device& device) {
    const std::vector<std::pair<AccessOp, Space>> kinds = {
        {AccessOp::kLoad, Space::kShared},      {AccessOp::kLoad, Space::kConstant},
        {AccessOp::kLoad, Space::kGlobal},      {AccessOp::kLoad, Space::kGlobalBypassL1},
        {AccessOp::kStore, Space::kShared},     {AccessOp::kStore, Space::kGlobalBypassL1},
        {AccessOp::kStoreLoad, Space::kShared}, {AccessOp::kStoreLoad, Space::kGlobalBypassL1},
        {AccessOp::kAtomicAdd, Space::kShared}, {AccessOp::kAtomicAdd, Space::kGlobalBypassL1}};
    bool any = false;
    for (const auto& [op, space] : kinds) {
      for (const std::uint32_t lane_stride : {0u, 8u}) {
        const AccessProgram program{.op = op,
                                    .space = space,
                                    .bytes = 1024,
                                    .lane_stride_bytes = lane_stride,
                                    .warp_stride_bytes = 256,
                                    .hop_bytes = op == AccessOp::kLoad ? 512u : 0u,
                                    .warps = 3,
                                    .warm_accesses = 16,
                                    .accesses = 64};
        const std::optional<AccessResult> result = access_of(device, program);
        if (!result) continue;
        any = true;
        SCOPED_TRACE(to_text(program));
        EXPECT_GT(result->least_cycles, 0.5);
        EXPECT_LE(result->least_cycles, result->mean_cycles);
        EXPECT_LE(result->mean_cycles, result->most_cycles);
        EXPECT_GE(result->total_cycles, 64 * result->least_cycles);
        EXPECT_EQ(result->blocks, 1u);
      }
    }
    if (!any) GTEST_SKIP() << kNoAccesses;
  });
}

TEST_P(DeviceConformance, WiderLoadsOfSharedMemoryTakeAtLeastAsLong) {
  on_device([](Device& device) {
    double narrower = 0;
    for (const std::uint32_t load_bytes : {4u, 8u, 16u}) {
      const std::optional<AccessResult> result = access_of(device, {.bytes = 4096,
                                                                    .lane_stride_bytes = load_bytes,
                                                                    .hop_bytes = 2048,
                                                                    .warm_accesses = 64,
                                                                    .accesses = 512,
                                                                    .load_bytes = load_bytes});
      if (!result) GTEST_SKIP() << kNoAccesses;
      EXPECT_GT(result->mean_cycles, 0.9 * narrower) << load_bytes;
      narrower = result->mean_cycles;
    }
  });
}

TEST_P(DeviceConformance, AccessesOnEverySmAtOnce) {
  on_device([](Device& device) {
    const AccessProgram program{.space = Space::kGlobalBypassL1,
                                .bytes = 1 << 16,
                                .lane_stride_bytes = 8,
                                .warp_stride_bytes = 256,
                                .hop_bytes = 4096,
                                .warps = 2,
                                .every_sm = true,
                                .accesses = 16};
    const std::optional<AccessResult> result = access_of(device, program);
    if (!result) GTEST_SKIP() << kNoAccesses;
    EXPECT_EQ(result->blocks, device.info().sm_count);
    EXPECT_GT(result->least_cycles, 1);
  });
}

// The latency of a load is about the same for a warp and for a single thread.
TEST_P(DeviceConformance, AWarpLoadsSharedMemoryAsFastAsAThread) {
  on_device([](Device& device) {
    const std::optional<AccessResult> result =
        access_of(device, {.bytes = 4096, .lane_stride_bytes = 4, .warm_accesses = 16, .accesses = 512});
    if (!result) GTEST_SKIP() << kNoAccesses;
    const StepResult chain =
        std::get<ChaseResult>(run_one(device, chase(Space::kShared, StepKind::kWarm, 512)).data).steps.at(0);
    const double cycles = static_cast<double>(chain.total_cycles) / static_cast<double>(chain.loads);
    EXPECT_LT(result->mean_cycles, 1.3 * cycles);
    EXPECT_GT(result->mean_cycles, 0.7 * cycles);
  });
}

TEST_P(DeviceConformance, ImpossibleAccessesAreUsageErrors) {
  on_device([](Device& device) {
    const AccessProgram good{.bytes = 1024, .lane_stride_bytes = 4, .accesses = 64};
    std::vector<AccessProgram> impossible(12, good);
    impossible[0].space = Space::kTexture;
    impossible[1].bytes = 0;
    impossible[2].lane_stride_bytes = 3;
    impossible[3].hop_bytes = 1024;
    impossible[4].warps = 33;
    impossible[5].accesses = 8;
    impossible[6].warm_accesses = 5;
    impossible[7].op = AccessOp::kStore;
    impossible[7].space = Space::kGlobal;
    impossible[8].op = AccessOp::kAtomicAdd;
    impossible[8].hop_bytes = 4;
    impossible[9].load_bytes = 2;
    impossible[10].load_bytes = 16;  // with a stride of 4
    impossible[11].bank_mode_bytes = 16;
    for (const AccessProgram& program : impossible) {
      EXPECT_THROW(static_cast<void>(run_one(device, program)), UsageError);
    }
  });
}

}  // namespace
}  // namespace gputopo::conformance
