// The orders of chains: which elements the kernel that writes the links must be told, and which element lies where.
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

// Whether the kernel that writes the links must be given the order of this chain.
[[nodiscard]] inline bool needs_table(const ChaseArray& array, std::uint32_t chain) {
  return !array.elements.empty() || order_of(array, chain) == Order::kShuffled;
}

// So many elements of a chain of the array, from its first on, are visited by the steps of the program.
[[nodiscard]] std::uint64_t visited_elements(const ChaseProgram& program, std::size_t array, std::uint32_t chain);

// Shuffles are kept, because probes run the same arrays many times.
class ChainOrders {
 public:
  // Of arrays without a list of elements, chains of the same key are shuffled alike.
  using Key = std::pair<std::uint64_t, std::uint64_t>;
  [[nodiscard]] static Key key_of(const ChaseArray& array, std::uint32_t chain) {
    return {array.element_count(), array.seed * 2 + chain};
  }

  // A chain of an array, of which so many elements are visited.
  struct Chain {
    const ChaseArray* array;
    std::uint32_t chain;
    std::uint64_t count;
  };
  // Shuffles those that are not kept yet, on several threads where there are many. For arrays without a list.
  void prepare(std::span<const Chain> chains);
  // So many elements of a shuffled chain or more, from its first on, valid until the next call.
  [[nodiscard]] const std::vector<std::uint32_t>& shuffled(const Chain& chain);
  // The element at a position of a chain.
  [[nodiscard]] std::uint64_t element_at(const ChaseArray& array, std::uint32_t chain, std::uint64_t position);

 private:
  void keep(const Key& key, std::vector<std::uint32_t> order);

  std::map<Key, std::vector<std::uint32_t>> kept_;
  std::uint64_t kept_bytes_ = 0;
};

}  // namespace gputopo::launch
