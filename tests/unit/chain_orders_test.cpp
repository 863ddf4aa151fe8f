// The chain orders that the host sends to the GPU equal those of chain_order(), however they were made.
#include "device/launch/chain_orders.h"

#include <gtest/gtest.h>

namespace gputopo::launch {
namespace {

ChaseArray array_of(std::uint64_t elements, std::uint64_t seed) {
  return {.bytes = elements * 64,
          .stride_bytes = 64,
          .order = Order::kShuffled,
          .second_order = Order::kShuffled,
          .seed = seed};
}

TEST(ChainOrders, ManyAtOnceAreThoseOfEach) {
  std::vector<ChaseArray> arrays;
  for (std::uint64_t seed = 0; seed < 20; ++seed) arrays.push_back(array_of(10'000 + seed % 3, seed));
  std::vector<ChainOrders::Chain> chains;
  for (const ChaseArray& array : arrays) {
    for (const std::uint32_t chain : {0u, 1u, 0u}) chains.push_back({&array, chain, array.chain_length()});
  }
  ChainOrders orders;
  orders.prepare(chains);
  orders.prepare(chains);  // already prepared
  for (const auto& chain : chains) EXPECT_EQ(orders.shuffled(chain), chain_order(*chain.array, chain.chain));
}

TEST(ChainOrders, OnlyWhatIsVisitedIsShuffled) {
  const ChaseArray array = array_of(1'000'000, 3);
  const std::vector<std::uint32_t> all = chain_order(array, 0);
  const auto first = [&](std::size_t count) { return std::vector(all.begin(), all.begin() + count); };
  ChainOrders orders;
  orders.prepare(std::vector<ChainOrders::Chain>{{&array, 0, 50}, {&array, 0, 200}, {&array, 0, 100}});
  EXPECT_EQ(orders.shuffled({&array, 0, 100}), first(200)) << "the most that was asked for";
  EXPECT_EQ(orders.shuffled({&array, 0, 300}), first(300));
  EXPECT_EQ(orders.shuffled({&array, 0, 10}), first(300));
  EXPECT_EQ(orders.element_at(array, 0, 500'000), all[500'000]);
}

TEST(VisitedElements, AreThoseOfTheLongestStepAndOneMore) {
  ChaseProgram program;
  program.arrays = {array_of(1000, 1), array_of(1000, 2), array_of(1000, 1)};
  program.arrays[2].alias_of = 0;
  program.steps = {{.kind = StepKind::kWarm, .array = 0, .loads = 100},
                   {.kind = StepKind::kTimed, .array = 0, .loads = 30, .first = 90},
                   {.kind = StepKind::kTouch, .array = 0, .loads = 900},
                   {.kind = StepKind::kTimed, .array = 1, .loads = 5000, .chain = 1}};
  EXPECT_EQ(visited_elements(program, 0, 0), 121);
  EXPECT_EQ(visited_elements(program, 0, 1), 0) << "nobody goes along it";
  EXPECT_EQ(visited_elements(program, 1, 1), 1000) << "round and round";
  program.steps.push_back({.kind = StepKind::kTimed, .array = 2, .loads = 300});
  EXPECT_EQ(visited_elements(program, 0, 0), 301) << "along the other name of the same array";
}

TEST(ChainOrders, MoreThanAreKeptAreMadeWhenTheyAreAskedFor) {
  const ChaseArray large = array_of(9'000'000, 1);
  const ChaseArray other = array_of(9'000'000, 2);
  const std::vector<ChainOrders::Chain> chains = {{&large, 0, 9'000'000}, {&other, 0, 9'000'000}};
  ChainOrders orders;
  orders.prepare(chains);
  EXPECT_EQ(orders.shuffled(chains[1]), chain_order(other, 0));
}

TEST(ChainOrders, TheElementAtAPositionIsThatOfTheOrder) {
  for (const Order order : {Order::kSequential, Order::kReversed, Order::kShuffled}) {
    for (const std::vector<std::uint32_t>& elements : {std::vector<std::uint32_t>{}, {7, 3, 11, 0, 5}}) {
      ChaseArray array = array_of(12, 5);
      array.order = array.second_order = order;
      array.elements = elements;
      ChainOrders orders;
      for (const std::uint32_t chain : {0u, 1u}) {
        const std::vector<std::uint32_t> expected = chain_order(array, chain);
        ASSERT_EQ(expected.size(), array.chain_length());
        for (std::size_t i = 0; i < expected.size(); ++i) {
          EXPECT_EQ(orders.element_at(array, chain, i), expected[i]) << to_string(order) << " " << i;
        }
      }
    }
  }
}

}  // namespace
}  // namespace gputopo::launch
