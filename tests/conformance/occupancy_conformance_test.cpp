// Blocks that stay on their SM, on every device that runs them.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>

#include "conformance/device_conformance.h"

namespace gputopo::conformance {
namespace {

// The result, or nothing if the device does not run such programs.
std::optional<OccupancyResult> occupancy_of(Device& device, const OccupancyProgram& program) {
  try {
    return std::get<OccupancyResult>(run_one(device, program).data);
  } catch (const NotSupportedError&) {
    return std::nullopt;
  }
}

TEST_P(DeviceConformance, BlocksThatStayAreCounted) {
  on_device([](Device& device) {
    constexpr std::uint32_t kBlocks = 2;
    const std::uint32_t warp = device.info().warp_size;
    const auto result = occupancy_of(device, {.threads = warp, .blocks_per_sm = kBlocks, .stay_cycles = 100'000});
    if (!result) GTEST_SKIP() << "the device does not tell how many blocks an SM holds";
    ASSERT_FALSE(result->sms.empty());
    ASSERT_EQ(result->resident.size(), result->sms.size());
    EXPECT_EQ(std::set(result->sms.begin(), result->sms.end()).size(), result->sms.size());
    EXPECT_GE(std::ranges::min(result->resident), 1u);
    EXPECT_TRUE(result->timer_ns.empty());
  });
}

TEST_P(DeviceConformance, ClocksAreReadOnEachSm) {
  on_device([](Device& device) {
    const auto result = occupancy_of(
        device, {.threads = device.info().warp_size, .blocks_per_sm = 1, .stay_cycles = 400'000, .clocks = true});
    if (!result) GTEST_SKIP() << "the device does not tell what its clocks say";
    ASSERT_EQ(result->clock_cycles.size(), result->sms.size());
    ASSERT_EQ(result->timer_ns.size(), result->sms.size());
    EXPECT_GE(std::ranges::min(result->clock_step_cycles), 1);
    EXPECT_GE(std::ranges::min(result->timer_step_ns), 1);
  });
}

}  // namespace
}  // namespace gputopo::conformance
