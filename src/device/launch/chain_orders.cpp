#include "device/launch/chain_orders.h"

namespace gputopo::launch {
namespace {

constexpr std::uint64_t kMaxKeptBytes = 64ull << 20;

}  // namespace

const std::vector<std::uint32_t>& ChainOrders::shuffled(const ChaseArray& array, std::uint32_t chain) {
  const Key key = key_of(array, chain);
  if (const auto found = kept_.find(key); found != kept_.end()) return found->second;
  if (kept_bytes_ > kMaxKeptBytes) {
    kept_.clear();
    kept_bytes_ = 0;
  }
  kept_bytes_ += array.element_count() * sizeof(std::uint32_t);
  return kept_[key] = chain_order(array, chain);
}

std::uint64_t ChainOrders::element_at(const ChaseArray& array, std::uint32_t chain, std::uint64_t position) {
  if (!array.elements.empty()) return chain_order(array, chain)[position];
  const Order order = order_of(array, chain);
  if (order == Order::kShuffled) return shuffled(array, chain)[position];
  return order == Order::kReversed ? array.element_count() - 1 - position : position;
}

}  // namespace gputopo::launch
