// The sharers of an instruction cache, from the delay of code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probe/code/sharing_decision.h"

namespace gputopo::probe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(EvictionScale, IsFromUntouchedToEvicted) {
  const EvictionScale scale = eviction_scale(1000, 2000, 512).value.value();
  EXPECT_DOUBLE_EQ(scale.part(1000), 0);
  EXPECT_DOUBLE_EQ(scale.part(1250), 0.25);
  EXPECT_DOUBLE_EQ(scale.part(2000), 1);
}

TEST(EvictionScale, IsNoneWhereTheTwoAreNear) {
  EXPECT_TRUE(eviction_scale(1000, 1081, 512).value);
  EXPECT_THAT(eviction_scale(1000, 1079, 512).why_not, HasSubstr("1000 cycles if nothing evicts it and 1079"));
  EXPECT_FALSE(eviction_scale(1000, 1000, 512).value);
  EXPECT_FALSE(eviction_scale(1000, 900, 512).value);
  EXPECT_FALSE(eviction_scale(0, 0, 512).value);
}

void expect_amount(const std::vector<double>& parts, std::int64_t value, std::int64_t sharing) {
  const CodeAmount amount = decide_code_amount(parts).value.value();
  EXPECT_EQ(amount.value, value);
  EXPECT_EQ(amount.warps_sharing, sharing);
}

TEST(CodeAmount, IsTheWarpsByThoseThatShare) {
  expect_amount({1, 1, 1, 1, 1, 1, 1, 1}, 1, 8);
  expect_amount({1, 0, 0, 0, 1, 0, 0, 0}, 4, 2);
  expect_amount({0.97, 0.1, 0.9, 0.05, 1.1, -0.1, 0.51, 0.49}, 2, 4);
  expect_amount({1}, 1, 1);
}

TEST(CodeAmount, IsWholeThoughOneWarpWasDisturbed) {
  expect_amount({1, 1, 1, 1, 1, 1, 1, 0}, 1, 7);
  expect_amount({1, 0, 0, 0, 1, 0, 0, 1}, 3, 3);
}

TEST(CodeAmount, IsNoneWhereNoWarpEvicts) {
  EXPECT_FALSE(decide_code_amount(std::vector<double>(8, 0.2)).value);
  EXPECT_FALSE(decide_code_amount({}).value);
}

TEST(GroupByEviction, AsksForEachGroupOnce) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> asked;
  const auto same_pair = [&](std::uint32_t victim, std::uint32_t evictor) {
    asked.emplace_back(victim, evictor);
    return victim / 2 == evictor / 2;
  };
  EXPECT_THAT(group_by_eviction({0, 1, 2, 3, 4}, same_pair),
              ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3), ElementsAre(4)));
  using testing::Pair;
  EXPECT_THAT(asked, ElementsAre(Pair(0, 1), Pair(0, 2), Pair(0, 3), Pair(0, 4), Pair(2, 3), Pair(2, 4)));
}

TEST(GroupByEviction, OfAllOrNoneOrNothing) {
  EXPECT_THAT(group_by_eviction({5, 6, 7}, [](auto, auto) { return true; }), ElementsAre(ElementsAre(5, 6, 7)));
  EXPECT_THAT(group_by_eviction({5, 6}, [](auto, auto) { return false; }), ElementsAre(ElementsAre(5), ElementsAre(6)));
  EXPECT_THAT(group_by_eviction({}, [](auto, auto) { return true; }), IsEmpty());
}

}  // namespace
}  // namespace gputopo::probe
