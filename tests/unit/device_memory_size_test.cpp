#include <gtest/gtest.h>

#include "device/launch/launch_gpu.h"

namespace gputopo::launch {
namespace {

constexpr std::uint64_t kGiB = 1ull << 30;

TEST(DeviceMemorySize, ArraysMayTakeMostOfTheFreeMemory) {
  DeviceInfo info;
  set_memory(info, 100 * kGiB, 140 * kGiB);
  EXPECT_EQ(info.memory_bytes, 140 * kGiB);
  EXPECT_EQ(info.memory_free_bytes, 100 * kGiB);
  EXPECT_EQ(info.max_array_bytes, 90 * kGiB);
}

// A GB10 reports all 119 GiB of the host as free memory of the GPU.
TEST(DeviceMemorySize, ArraysOfAnIntegratedGpuLeaveTheHostHalfOfItsFreeMemory) {
  DeviceInfo info;
  set_memory(info, 119 * kGiB, 119 * kGiB, 20 * kGiB);
  EXPECT_EQ(info.memory_bytes, 119 * kGiB);
  EXPECT_EQ(info.memory_free_bytes, 20 * kGiB);
  EXPECT_EQ(info.max_array_bytes, 10 * kGiB);
  set_memory(info, 8 * kGiB, 119 * kGiB, 64 * kGiB);
  EXPECT_EQ(info.max_array_bytes, 7372 * (kGiB >> 10)) << "0.9 of 8 GiB, in pages of 2 MiB";
}

}  // namespace
}  // namespace gputopo::launch
