// Which footprints and strides a latency surface has.
#include <gtest/gtest.h>

#include <set>

#include "probe/latency/surface.h"

namespace gputopo::probe {
namespace {

TEST(LatencySurface, HasWalksOfAFewLoadsToVeryMany) {
  const std::vector<SurfacePoint> points = surface_points(96ull << 20);
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
  for (const SurfacePoint& point : points) {
    EXPECT_TRUE(seen.emplace(point.footprint_bytes, point.stride_bytes).second);
    EXPECT_LE(point.footprint_bytes, 96ull << 20);
    EXPECT_GE(point.footprint_bytes / point.stride_bytes, 4u);
    EXPECT_LE(point.footprint_bytes / point.stride_bytes, 1u << 17);
  }
  EXPECT_TRUE(seen.contains({1024, 16}));
  EXPECT_TRUE(seen.contains({64ull << 20, 1024}));
  EXPECT_TRUE(seen.contains({64ull << 20, 4u << 20}));
  EXPECT_FALSE(seen.contains({64ull << 20, 16}));
  EXPECT_LT(points.size(), 150u);
}

TEST(LatencySurface, NoMemoryNoPoints) { EXPECT_TRUE(surface_points(0).empty()); }

}  // namespace
}  // namespace gputopo::probe
