// The conditions of programs, for one finding and for findings that rest on others.
#include "probe/bench/conditions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gputopo::probe {
namespace {

ProgramResult result(double clock_mhz, std::uint64_t carve_out_bytes, bool undisturbed = true) {
  ProgramResult answer;
  answer.sm_clock_mhz = clock_mhz;
  answer.shared_carve_out_bytes = carve_out_bytes;
  answer.undisturbed = undisturbed;
  return answer;
}

const Value* find(const NamedValues& values, std::string_view name) {
  for (const auto& [key, value] : values) {
    if (key == name) return &value;
  }
  return nullptr;
}

TEST(Conditions, NoneWhereNothingRan) {
  EXPECT_TRUE(Conditions().is_empty());
  EXPECT_TRUE(Conditions().named().empty());
  EXPECT_EQ(Conditions().sm_clock_mhz(), 0);
}

TEST(Conditions, TakeTheClockOfOthers) {
  Conditions own;
  own.add(result(1875, 8192, false));
  Conditions burst;
  burst.add(result(1980, 16384));
  const Conditions both = own.at_clock_of(burst);
  EXPECT_DOUBLE_EQ(both.sm_clock_mhz(), 1980);
  EXPECT_EQ(*find(both.named(), "carve_out_bytes"), Value(std::int64_t{8192}));
  EXPECT_FALSE(both.undisturbed());
}

TEST(Conditions, TheClockIsTheMeanOfThePrograms) {
  Conditions conditions;
  conditions.add(result(1980, 8192));
  conditions.add(result(1970, 8192));
  EXPECT_DOUBLE_EQ(conditions.sm_clock_mhz(), 1975);
  const NamedValues named = conditions.named();
  EXPECT_EQ(*find(named, "sm_clock_mhz"), Value(1975.0));
  EXPECT_EQ(*find(named, "carve_out_bytes"), Value(std::int64_t{8192}));
  EXPECT_EQ(find(named, "sm_clock_low_mhz"), nullptr);  // steady enough
  EXPECT_EQ(find(named, "undisturbed"), nullptr);
}

TEST(Conditions, AClockThatFellShows) {
  Conditions conditions;
  conditions.add(result(1980, 0));
  conditions.add(result(1350, 0));
  EXPECT_EQ(*find(conditions.named(), "sm_clock_low_mhz"), Value(1350.0));
  EXPECT_EQ(*find(conditions.named(), "sm_clock_high_mhz"), Value(1980.0));
}

TEST(Conditions, SeveralCarveOutsAreAList) {
  Conditions conditions;
  conditions.add(result(1980, 233472));
  conditions.add(result(1980, 8192));
  EXPECT_EQ(*find(conditions.named(), "carve_out_bytes"), Value(std::vector<double>{8192, 233472}));
}

TEST(Conditions, OfAFindingThatRestsOnAnother) {
  Conditions survey;
  survey.add(result(1000, 8192));
  Conditions own;
  own.add(result(2000, 8192, false));
  own.add(survey);
  EXPECT_DOUBLE_EQ(own.sm_clock_mhz(), 1500);
  EXPECT_FALSE(own.undisturbed());
  EXPECT_EQ(*find(own.named(), "undisturbed"), Value(false));
  // A finding without own programs has the conditions of the findings that it rests on, and no zeros.
  Conditions derived;
  derived.add(Conditions());
  derived.add(survey);
  EXPECT_DOUBLE_EQ(derived.sm_clock_mhz(), 1000);
}

}  // namespace
}  // namespace gputopo::probe
