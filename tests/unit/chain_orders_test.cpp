// The orders that the host tells the GPU are those of chain_order(), however they were made.
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
    for (const std::uint32_t chain : {0u, 1u, 0u}) chains.push_back({&array, chain});
  }
  ChainOrders orders;
  orders.prepare(chains);
  orders.prepare(chains);  // what is there already
  for (const auto& [array, chain] : chains) EXPECT_EQ(orders.shuffled(*array, chain), chain_order(*array, chain));
}

TEST(ChainOrders, MoreThanAreKeptAreMadeWhenTheyAreAskedFor) {
  const ChaseArray large = array_of(9'000'000, 1);
  const ChaseArray other = array_of(9'000'000, 2);
  const std::vector<ChainOrders::Chain> chains = {{&large, 0}, {&other, 0}};
  ChainOrders orders;
  orders.prepare(chains);
  EXPECT_EQ(orders.shuffled(other, 0), chain_order(other, 0));
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
