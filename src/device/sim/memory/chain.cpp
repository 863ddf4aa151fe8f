#include "device/sim/memory/chain.h"

namespace gputopo::sim {

ElementOrder ElementOrders::of(const ChaseArray& array, std::uint32_t chain, std::uint64_t count) {
  const Order order = chain == 0 ? array.order : array.second_order;
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.order == order && entry.chain == chain && entry.seed == array.seed &&
           entry.length == array.chain_length() && entry.listed == array.elements;
  });
  if (found != entries_.end() && found->visited->size() >= count) {
    entries_.splice(entries_.begin(), entries_, found);
    return found->visited;
  }
  if (found != entries_.end()) {
    elements_ -= found->visited->size();
    entries_.erase(found);
  }
  entries_.push_front({order, chain, array.seed, array.chain_length(), array.elements,
                       std::make_shared<const std::vector<std::uint32_t>>(chain_order(array, chain, count))});
  elements_ += entries_.front().visited->size();
  while (entries_.size() > kMaxEntries || (elements_ > kMaxElements && entries_.size() > 1)) {
    elements_ -= entries_.back().visited->size();
    entries_.pop_back();
  }
  return entries_.front().visited;
}

}  // namespace gputopo::sim
