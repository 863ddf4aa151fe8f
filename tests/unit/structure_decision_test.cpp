// Ways, sets and index from possible conflict sets, including awkward ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probe/structure/geometry_decision.h"

namespace gputopo::probe {
namespace {

// Lines of one set; the last one is one too many.
Conflict conflict(std::vector<std::uint32_t> lines) {
  Conflict found{.last = lines.back()};
  lines.pop_back();
  found.others = found.walked = lines;
  return found;
}

// Lines of 128 B, chosen from twice as many as the cache holds.
ConflictSets sets_of(double lines, const std::vector<std::vector<std::uint32_t>>& conflicts) {
  ConflictSets sets{.lines = lines, .line_bytes = 128, .array_bytes = 256 * static_cast<std::uint64_t>(lines)};
  for (const auto& one : conflicts) sets.conflicts.push_back(conflict(one));
  return sets;
}

// Conflicts with these numbers of ways; the lines themselves do not matter.
ConflictSets sets_with_ways(const std::vector<std::size_t>& ways) {
  ConflictSets sets{.lines = 256, .line_bytes = 128, .array_bytes = 65536};
  for (const std::size_t one : ways) sets.conflicts.push_back({.others = std::vector<std::uint32_t>(one), .last = 1});
  return sets;
}

std::vector<std::size_t> ways_of(const std::vector<Conflict>& conflicts) {
  std::vector<std::size_t> ways;
  for (const Conflict& one : conflicts) ways.push_back(one.ways());
  return ways;
}

void expect_ways(const ConflictSets& sets, std::size_t value, double low, double high) {
  const Decision<Ways> decision = decide_ways(sets);
  ASSERT_TRUE(decision.value) << decision.why_not;
  const Ways& ways = *decision.value;
  EXPECT_EQ(ways.value, value);
  EXPECT_EQ(ways.interval.low, low);
  EXPECT_EQ(ways.interval.high, high);
}

void expect_sets(const ConflictSets& sets, std::int64_t value, double slack, bool counted) {
  const Decision<SetCount> decision = decide_sets(sets);
  ASSERT_TRUE(decision.value) << decision.why_not;
  const SetCount& count = *decision.value;
  EXPECT_EQ(count.value, value);
  EXPECT_EQ(count.interval.low, static_cast<double>(value) - slack);
  EXPECT_EQ(count.interval.high, static_cast<double>(value) + slack);
  EXPECT_EQ(count.counted, counted);
}

template <typename Value>
void expect_none(const Decision<Value>& decision, const std::string& why_not) {
  EXPECT_FALSE(decision.value);
  EXPECT_THAT(decision.why_not, testing::HasSubstr(why_not));
}

std::string index_of(const ConflictSets& sets) { return to_string(decide_index(sets).value.value()); }

// 64 sets of 4 ways.
const std::vector<std::vector<std::uint32_t>> kModulo = {{3, 131, 323, 67, 259}, {488, 104, 296, 168, 40}};

TEST(StructureDecision, ConsecutiveLinesInConsecutiveSetsCountThem) {
  const ConflictSets sets = sets_of(256, kModulo);
  expect_ways(sets, 4, 4, 4);
  expect_sets(sets, 64, 0, true);
  const SetIndex index = decide_index(sets).value.value();
  EXPECT_EQ(to_string(index), "modulo");
  EXPECT_EQ(index.set_stride_bytes, 64u * 128);
}

TEST(StructureDecision, OneConflictSetTellsToo) {
  const ConflictSets sets = sets_of(256, {kModulo[0]});
  expect_ways(sets, 4, 4, 4);
  expect_sets(sets, 64, 0, true);
}

TEST(StructureDecision, SizeThatIsALittleOffDoesNotHideCountedSets) {
  for (const double lines : {250.0, 262.0}) expect_sets(sets_of(lines, kModulo), 64, 0, true);
}

TEST(StructureDecision, DistancesThatHappenToBeMultiplesDoNotCountSets) {
  const ConflictSets sets = sets_of(256, {{3, 131, 387, 259, 515}});
  EXPECT_EQ(counted_sets(sets), std::nullopt) << "128 sets would have two ways";
  expect_sets(sets, 64, 0, false);
}

// The part that shared memory leaves: half of 64 sets have one way more.
TEST(StructureDecision, SetsMayHaveAWayMoreThanOthers) {
  const ConflictSets sets = sets_of(352, {{3, 131, 323, 67, 195, 259}, {488, 104, 296, 168, 40, 360, 424}});
  expect_ways(sets, 6, 5, 6);
  expect_sets(sets, 64, 0, true);
  EXPECT_EQ(index_of(sets), "modulo");
}

TEST(StructureDecision, LookedAtSetsMayAllHaveTheFewerWays) {
  expect_ways(sets_of(280, kModulo), 4, 4, 5);
  expect_ways(sets_of(240, kModulo), 4, 3, 4);
}

TEST(StructureDecision, SetsThatDifferByTwoWaysAreNotMinimal) {
  expect_none(decide_ways(sets_with_ways({4, 6})), "conflict sets show 4 to 6 ways");
}

// Noise adds one line to each: 34 lines in sets of 14.
TEST(StructureDecision, SetsThatDoNotMakeUpTheCacheSayNothingOfItsIndex) {
  ConflictSets sets = sets_of(34, {{0, 3, 5, 6, 9, 10, 23, 33, 36, 39, 42, 45, 58, 60, 63}});
  sets.array_bytes = 64 * 128;
  expect_none(decide_index(sets), "34 lines are not a whole number of sets of 14 ways");
  sets.lines = 28;
  EXPECT_EQ(index_of(sets), "hashed");
}

TEST(StructureDecision, SetsOfVeryDifferentWaysSayNothingOfAnIndex) {
  expect_none(decide_index(sets_with_ways({1, 200})), "conflict sets show 1 to 200 ways");
}

// Eight lines of one way, with a hash that places many conflicts eight lines apart: five such pairs were found.
TEST(StructureDecision, PairsThatAreForetoldTellAHashFromAModulo) {
  ConflictSets sets = sets_of(8, {{7, 15}, {5, 13}, {2, 10}, {4, 12}, {4, 12}, {3, 11}});
  EXPECT_EQ(to_string(*decide_index(sets).value), "modulo");
  const auto pairs = predicted_pairs(sets, 16);
  EXPECT_THAT(pairs, testing::SizeIs(8));
  EXPECT_THAT(pairs, testing::Contains(testing::ElementsAre(6, 14)));  // but these do not conflict
  sets.is_hashed = true;
  EXPECT_EQ(to_string(*decide_index(sets).value), "hashed");
  EXPECT_EQ(decide_sets(sets).value->value, 8);
  EXPECT_EQ(decide_ways(sets).value->value, 1);
}

TEST(StructureDecision, OneSetIsNoIndex) {
  std::vector<std::uint32_t> all(17);
  for (std::uint32_t i = 0; i < all.size(); ++i) all[i] = i;
  EXPECT_EQ(index_of(sets_of(16, {all, all})), "none");
  expect_sets(sets_of(16, {all, all}), 1, 0, true);
}

// Bits 12 to 17 for 64 sets: the 32 lines of 4 KiB are in one set.
TEST(StructureDecision, BitsAboveThoseRightOverTheLineNameTheSet) {
  ConflictSets sets = sets_of(512, {{291, 2340, 4399, 293, 6436, 2363, 4384, 296, 318},
                                    {1600, 3662, 1619, 7768, 5701, 3671, 5707, 1624, 7775}});
  sets.array_bytes = 1 << 20;
  EXPECT_EQ(index_of(sets), "bits 12 to 17");
}

TEST(StructureDecision, BitsThatAreAlikeByChanceNameNoSet) {
  // Two pairs that each agree in two bits: a chance of one in sixteen.
  EXPECT_EQ(index_of(sets_of(4, {{0, 3}, {1, 6}})), "hashed");
}

TEST(StructureDecision, ScatteredLinesAreHashed) {
  const ConflictSets sets = sets_of(256, {{3, 137, 318, 94, 245}, {488, 111, 290, 165, 42}});
  EXPECT_EQ(index_of(sets), "hashed");
  expect_sets(sets, 64, 0, false);
}

// The size of a large cache is known to one percent.
TEST(StructureDecision, HashedSetsAreAPowerOfTwoWhereTheSizeAllows) {
  expect_sets(sets_of(255, {{3, 137, 318, 94, 245}, {488, 111, 290, 165, 42}}), 64, 1, false);
  expect_sets(sets_of(240, {{3, 137, 318, 94, 245}, {488, 111, 290, 165, 42}}), 60, 0, false);
}

// 200 lines are 9.1 sets of 22 lines, with two lines left over.
TEST(StructureDecision, LinesThatAreCountedMakeUpWholeSetsExactly) {
  std::vector<std::uint32_t> lines(23);
  for (std::uint32_t i = 0; i < lines.size(); ++i) lines[i] = 1 + i * i;
  ConflictSets sets = sets_of(200, {lines});
  EXPECT_TRUE(decide_sets(sets).value) << "the size may be off by that much";
  sets.lines_are_exact = true;
  expect_none(decide_sets(sets), "200 lines are not a whole number of sets of 22 ways");
}

TEST(StructureDecision, LinesThatAreNoWholeNumberOfSetsTellNone) {
  expect_none(decide_sets(sets_of(26, {{3, 37, 18, 9, 25}})), "26 lines are not a whole number of sets of 4 ways");
}

TEST(StructureDecision, HashedSetsThatAreNotAlikeTellNone) {
  expect_none(decide_sets(sets_of(256, {{3, 137, 318, 94}, {488, 111, 290, 165, 42}})), "they have 3 or 4 ways");
}

// Behind another cache, the walked lines include the others of a set, and only these can match by chance.
TEST(StructureDecision, BehindAnotherCacheChanceIsOfWhatWasWalked) {
  ConflictSets sets = sets_of(64, {{0, 33, 64, 97, 65}, {6, 39, 70, 103, 71}});
  EXPECT_EQ(index_of(sets), "bits 8 to 11");
  sets.behind = true;
  sets.conflicts[0].walked = {0, 1, 32, 33, 64, 96, 97};
  sets.conflicts[1].walked = {6, 7, 38, 39, 70, 102, 103};
  EXPECT_EQ(index_of(sets), "hashed") << "all that was walked is alike in the bits that the set is";
}

TEST(StructureDecision, NoConflictsTellNothing) {
  const ConflictSets none = sets_of(256, {});
  EXPECT_EQ(none.fewest_ways(), 0u);
  EXPECT_EQ(none.most_ways(), 0u);
  EXPECT_EQ(counted_sets(none), std::nullopt);
  EXPECT_FALSE(are_enough(none));
  for (const std::string& why_not :
       {decide_ways(none).why_not, decide_sets(none).why_not, decide_index(none).why_not}) {
    EXPECT_EQ(why_not, "no conflicting lines were found");
  }
}

TEST(MinimalConflicts, ByThemselvesAreThoseWithoutStrangers) {
  EXPECT_THAT(ways_of(minimal_conflicts(sets_with_ways({9, 4, 4, 5}))), testing::ElementsAre(4, 4, 5));
}

TEST(MinimalConflicts, BehindAnotherCacheAreThoseWithoutGaps) {
  ConflictSets sets = sets_with_ways({3, 4, 4, 2});
  sets.behind = true;
  EXPECT_THAT(ways_of(minimal_conflicts(sets)), testing::ElementsAre(4, 4));
}

TEST(EnoughConflicts, AreTwoMinimalOnesAndADozenLines) {
  EXPECT_FALSE(are_enough(sets_with_ways({16})));
  EXPECT_FALSE(are_enough(sets_with_ways({16, 24})));
  EXPECT_FALSE(are_enough(sets_with_ways({4, 4})));
  EXPECT_TRUE(are_enough(sets_with_ways({16, 16})));
  EXPECT_TRUE(are_enough(sets_with_ways({5, 5})));
}

TEST(EnoughConflicts, OfPairsAreMore) {
  EXPECT_FALSE(are_enough(sets_with_ways(std::vector<std::size_t>(11, 1))));
  EXPECT_TRUE(are_enough(sets_with_ways(std::vector<std::size_t>(12, 1))));
}

}  // namespace
}  // namespace gputopo::probe
