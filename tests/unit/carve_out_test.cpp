#include "probe/capacity/carve_out.h"

#include <gtest/gtest.h>

namespace gputopo::probe {
namespace {

// 240 KiB and 20 KiB of a 248 KiB array.
TEST(CarveOut, SizesBetweenTwoLieOnALine) {
  const Capacity most{
      .bytes = 245'760, .interval = {243'712, 247'808}, .first_miss_bytes = 204'800, .all_miss_bytes = 400'000};
  const Capacity least{.bytes = 20'480, .interval = {19'456, 21'504}, .first_miss_bytes = 16'384};
  const Capacity between = capacity_on_line({8'192, most}, {233'472, least}, 102'400);
  EXPECT_EQ(between.bytes, 151'552);
  EXPECT_NEAR(between.interval.low, 149'932, 1);
  EXPECT_NEAR(between.interval.high, 153'172, 1);
  EXPECT_NEAR(between.first_miss_bytes, 126'008, 1);
  EXPECT_EQ(between.all_miss_bytes, 0) << "one of them has none";
  EXPECT_EQ(capacity_on_line({8'192, most}, {233'472, least}, 8'192).bytes, most.bytes);
  EXPECT_EQ(capacity_on_line({8'192, most}, {233'472, least}, 233'472).bytes, least.bytes);
}

}  // namespace
}  // namespace gputopo::probe
