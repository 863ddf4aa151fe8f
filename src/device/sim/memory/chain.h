// Addresses of the elements of an array, in the order of a chain.
#pragma once

#include <algorithm>
#include <cstdint>
#include <list>
#include <memory>
#include <utility>
#include <vector>

#include "gputopo/program.h"

namespace gputopo::sim {

using ElementOrder = std::shared_ptr<const std::vector<std::uint32_t>>;

// Keeps shuffled and listed orders for later programs, because a shuffle takes longer than most walks.
class ElementOrders {
 public:
  // Returns at least the first `count` elements.
  [[nodiscard]] ElementOrder of(const ChaseArray& array, std::uint32_t chain, std::uint64_t count);

 private:
  // 16 MiB on the host. There are few entries because they are searched one by one.
  static constexpr std::uint64_t kMaxElements = 4u << 20;
  static constexpr std::size_t kMaxEntries = 16;

  struct Entry {
    Order order = Order::kShuffled;
    std::uint32_t chain = 0;
    std::uint64_t seed = 0;
    std::uint64_t length = 0;
    std::vector<std::uint32_t> listed;  // ChaseArray::elements
    ElementOrder visited;
  };
  std::list<Entry> entries_;  // most recently used first
  std::uint64_t elements_ = 0;
};

class ChainAddresses {
 public:
  // Addresses in the order of the elements.
  ChainAddresses(const ChaseArray& array, std::uint64_t base) : ChainAddresses(array, base, Order::kSequential) {}

  // Addresses of the positions that `step` loads from.
  ChainAddresses(const ChaseArray& array, std::uint64_t base, const ChaseStep& step, ElementOrders& orders)
      : ChainAddresses(array, base, step.chain == 0 ? array.order : array.second_order) {
    if (!array.elements.empty()) order_ = Order::kShuffled;
    count_ = array.chain_length();
    end_ = std::min(count_, step.first + step.loads);
    if (order_ == Order::kShuffled) shuffled_ = orders.of(array, step.chain, end_);
  }

  [[nodiscard]] std::uint64_t count() const { return count_; }
  // End of the positions that at() accepts.
  [[nodiscard]] std::uint64_t end() const { return end_; }
  [[nodiscard]] Order order() const { return order_; }

  // Address of the position-th visited element. The order is a template parameter to keep it out of loops over loads.
  template <Order kOrder>
  [[nodiscard]] std::uint64_t at(std::uint64_t position) const {
    std::uint64_t index = position;
    if constexpr (kOrder == Order::kReversed) index = count_ - 1 - position;
    if constexpr (kOrder == Order::kShuffled) index = (*shuffled_)[position];
    return base_ + index * stride_ + (2 * index >= count_ ? skew_ : 0) + ((index * stagger_) & stagger_mask_);
  }

 private:
  ChainAddresses(const ChaseArray& array, std::uint64_t base, Order order)
      : order_(order),
        base_(base),
        stride_(array.stride_bytes),
        skew_(array.skew_bytes),
        stagger_(array.stagger_bytes),
        stagger_mask_(array.stagger_window_bytes - 1),
        count_(array.element_count()),
        end_(count_) {}

  Order order_;
  std::uint64_t base_;
  std::uint64_t stride_;
  std::uint64_t skew_;
  std::uint64_t stagger_;
  std::uint64_t stagger_mask_;
  std::uint64_t count_;
  std::uint64_t end_;
  ElementOrder shuffled_;
};

}  // namespace gputopo::sim
