// The orders of chains: those that the kernel that writes links must be given, and the element at each position.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "gputopo/program.h"

namespace gputopo::launch {

[[nodiscard]] inline Order order_of(const ChaseArray& array, std::uint32_t chain) {
  return chain == 0 ? array.order : array.second_order;
}

// Whether the kernel that writes the links needs a table of this chain's order.
[[nodiscard]] inline bool needs_table(const ChaseArray& array, std::uint32_t chain) {
  return !array.elements.empty() || order_of(array, chain) == Order::kShuffled;
}

// Returns how many elements of a chain, from its first on, the program's steps visit.
[[nodiscard]] std::uint64_t visited_elements(const ChaseProgram& program, std::size_t array, std::uint32_t chain);

// Keeps shuffles, because probes run the same arrays many times.
class ChainOrders {
 public:
  // Chains with the same key have the same shuffle, if their arrays have no list of elements.
  using Key = std::pair<std::uint64_t, std::uint64_t>;
  [[nodiscard]] static Key key_of(const ChaseArray& array, std::uint32_t chain) {
    return {array.element_count(), array.seed * 2 + chain};
  }

  // A chain of an array, of which `count` elements are visited.
  struct Chain {
    const ChaseArray* array;
    std::uint32_t chain;
    std::uint64_t count;
  };
  // Shuffles the chains that are not kept yet, on several threads if they are long. Only for arrays without a list.
  void prepare(std::span<const Chain> chains);
  // Returns at least the first `count` elements of a shuffled chain, valid until the next call.
  [[nodiscard]] const std::vector<std::uint32_t>& shuffled(const Chain& chain);
  [[nodiscard]] std::uint64_t element_at(const ChaseArray& array, std::uint32_t chain, std::uint64_t position);

 private:
  void keep(const Key& key, std::vector<std::uint32_t> order);

  std::map<Key, std::vector<std::uint32_t>> kept_;
  std::uint64_t kept_bytes_ = 0;
};

}  // namespace gputopo::launch
