#include "model/round_up.h"

#include <gtest/gtest.h>

namespace gputopo {
namespace {

TEST(RoundUp, GivesTheNextMultiple) {
  EXPECT_EQ(round_up(0, 256), 0u);
  EXPECT_EQ(round_up(1, 256), 256u);
  EXPECT_EQ(round_up(256, 256), 256u);
  EXPECT_EQ(round_up(257, 256), 512u);
  EXPECT_EQ(round_up(7, 1), 7u);
  EXPECT_EQ(round_up(10, 3), 12u) << "units need not be powers of two";
  EXPECT_EQ(round_up((1ull << 40) + 1, 1ull << 21), (1ull << 40) + (1ull << 21));
}

}  // namespace
}  // namespace gputopo
