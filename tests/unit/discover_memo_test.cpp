// Each finding is made once, whether or not it has a value.
#include <gtest/gtest.h>

#include <functional>

#include "discover/findings/lazy_result.h"
#include "gputopo/error.h"
#include "probe/bench/probe_runner.h"
#include "support/message_of.h"

namespace gputopo {
namespace {

TEST(LazyResultMap, MakesEachKeyOnce) {
  LazyResultMap<int, int> memo;
  int made = 0;
  const auto twice = [&](int key) { return memo.get(key, [&] { return ++made, 2 * key; }); };
  EXPECT_EQ(twice(3), 6);
  EXPECT_EQ(twice(3), 6);
  EXPECT_EQ(twice(4), 8);
  EXPECT_EQ(made, 2);
}

TEST(LazyResultMap, AnAbsenceIsKeptWithItsReason) {
  LazyResultMap<int, int> memo;
  int tried = 0;
  const auto nothing = [&]() -> int {
    ++tried;
    throw probe::NotPresent("there is none");
  };
  EXPECT_THROW(static_cast<void>(memo.get(1, nothing)), probe::NotPresent);
  EXPECT_THROW(static_cast<void>(memo.get(1, nothing)), probe::NotPresent);
  EXPECT_EQ(memo.find(1, nothing), nullptr);
  EXPECT_EQ(tried, 1);
}

TEST(LazyResultMap, AFindingThatNeedsItselfIsAnError) {
  LazyResultMap<int, int> memo;
  const std::function<int()> make = [&]() -> int { return memo.get(1, make) + memo.get(2, [] { return 1; }); };
  EXPECT_THROW(static_cast<void>(memo.get(1, make)), CircularRequest);
  EXPECT_EQ(memo.get(1, [] { return 3; }), 3) << "it is not kept as absent";
}

TEST(LazyResultMap, EachKindOfAbsenceIsThrownAsItWas) {
  LazyResultMap<int, int> memo;
  const auto absent = [&](int key, auto error) {
    return [&memo, key, error] {
      static_cast<void>(memo.find(key, [&]() -> int { throw error; }));
      static_cast<void>(memo.get(key, [] { return 0; }));
    };
  };
  EXPECT_THROW(absent(1, probe::Inconclusive("a"))(), probe::Inconclusive);
  EXPECT_THROW(absent(2, probe::NotPresent("b"))(), probe::NotPresent);
  EXPECT_THROW(absent(3, NotSupportedError("c"))(), NotSupportedError);
  EXPECT_THROW(absent(4, DeviceMemoryError("d"))(), DeviceError);
}

TEST(LazyResultMap, WhatEndsADiscoveryIsKeptAsNeither) {
  LazyResultMap<int, int> memo;
  EXPECT_THROW(static_cast<void>(memo.get(1, []() -> int { throw probe::Stopped(); })), probe::Stopped);
  EXPECT_THROW(static_cast<void>(memo.get(1, []() -> int { throw probe::OverBudget(); })), probe::OverBudget);
  EXPECT_THROW(static_cast<void>(memo.get(1, []() -> int { throw DeviceLostError("gone"); })), DeviceLostError);
  EXPECT_EQ(memo.get(1, [] { return 5; }), 5);
}

TEST(LazyResultMap, MakingOneMayAskForAnother) {
  LazyResultMap<int, int> memo;
  const int& sum = memo.get(2, [&] { return 1 + memo.get(1, [] { return 10; }); });
  EXPECT_EQ(sum, 11);
}

}  // namespace
}  // namespace gputopo
