// The order in which a chain visits its elements.
#include <algorithm>
#include <numeric>
#include <random>
#include <unordered_map>

#include "gputopo/program/chase.h"

namespace gputopo {
namespace {

// The first `count` elements of a seeded permutation of 0..length-1. Fisher-Yates runs from the front, so it draws only
// these. The mapping to a range is our own: std::shuffle differs between standard libraries, and a recording must
// replay anywhere.
std::vector<std::uint32_t> shuffled(std::uint64_t length, std::uint64_t count, std::uint64_t seed) {
  // The length enters the seed so that arrays of two lengths are not visited at the same relative places.
  std::mt19937_64 generator(seed ^ length * 0x9E3779B97F4A7C15);
  const auto draw = [&](std::uint64_t i) { return i + (((generator() >> 32) * (length - i)) >> 32); };
  std::vector<std::uint32_t> order;
  constexpr std::uint64_t kFew = 256;  // below one element in this many, a map of the moved ones is cheaper
  if (count < length / kFew) {
    std::unordered_map<std::uint64_t, std::uint32_t> moved;
    const auto value_at = [&](std::uint64_t i) {
      const auto found = moved.find(i);
      return found == moved.end() ? static_cast<std::uint32_t>(i) : found->second;
    };
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t j = draw(i);
      order.push_back(value_at(j));
      moved[j] = value_at(i);
    }
    return order;
  }
  order.resize(length);
  std::iota(order.begin(), order.end(), 0u);
  for (std::uint64_t i = 0; i < count; ++i) std::swap(order[i], order[draw(i)]);
  if (count == length) return order;
  // Orders are kept, and a vector that was shortened keeps its memory. Hence the copy.
  return {order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count)};
}

}  // namespace

std::vector<std::uint32_t> chain_order(const ChaseArray& array, std::uint32_t chain, std::uint64_t count) {
  const std::uint64_t length = array.chain_length();
  count = std::min(count, length);
  const Order order = chain == 0 ? array.order : array.second_order;
  std::vector<std::uint32_t> visited;
  if (order == Order::kShuffled) {
    visited = shuffled(length, count, array.seed * 2 + chain);
  } else {
    visited.resize(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      visited[i] = static_cast<std::uint32_t>(order == Order::kReversed ? length - 1 - i : i);
    }
  }
  if (!array.elements.empty()) {
    for (std::uint32_t& place : visited) place = array.elements[place];
  }
  return visited;
}

}  // namespace gputopo
