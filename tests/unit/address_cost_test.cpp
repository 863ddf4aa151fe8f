// The cost of further addresses in a load of constants: the slope of a line, or nothing if there is no line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gputopo/error.h"
#include "gputopo/program.h"
#include "probe/warps/address_cost_decision.h"

namespace gputopo {
namespace {

using probe::decide_address_cost;
using ::testing::HasSubstr;

TEST(AddressCost, IsTheSlopeOverAddresses) {
  const auto found = decide_address_cost(
      {{1, 2, 3, 4, 6, 9, 13, 19, 28}, {28.08, 39.08, 50.09, 61.08, 83.08, 116.08, 160.1, 226.08, 325.08}});
  ASSERT_TRUE(found.value);
  EXPECT_NEAR(found.value->line.slope, 11, 0.01);
  EXPECT_NEAR(found.value->line.intercept, 17.08, 0.05);
}

TEST(AddressCost, MayBeNothing) {
  const auto found = decide_address_cost({{1, 2, 4, 8, 16}, {28, 28.02, 28, 27.99, 28.01}});
  ASSERT_TRUE(found.value);
  EXPECT_NEAR(found.value->line.slope, 0, 0.01);
}

// Four addresses served at once make steps, so no cost of a single address can be given.
TEST(AddressCost, IsNotToldOfSteps) {
  const auto found = decide_address_cost({{1, 2, 3, 4, 6, 9, 13, 16}, {20, 20, 20, 20, 40, 60, 80, 80}});
  EXPECT_FALSE(found.value);
  EXPECT_THAT(found.why_not, HasSubstr("is not linear"));
}

TEST(AddressCost, ProgramsLoadConstantsOfTheBank) {
  AccessProgram program{.space = Space::kConstant, .bytes = 64 << 10, .lane_stride_bytes = 4, .accesses = 16};
  EXPECT_EQ(access_word_bytes(program), 4u);
  EXPECT_NO_THROW(validate(program));
  program.bytes *= 2;
  EXPECT_THROW(validate(program), UsageError);
  program.bytes = 1024;
  program.op = AccessOp::kStore;
  EXPECT_THROW(validate(program), UsageError);
}

}  // namespace
}  // namespace gputopo
