#include "device/launch/chain_orders.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>

namespace gputopo::launch {
namespace {

constexpr std::uint64_t kMaxKeptBytes = 64ull << 20;
// Shuffling takes about 7 ns an element, and starting a thread 30 us.
constexpr std::uint64_t kElementsPerThread = 50'000;
constexpr std::size_t kMaxThreads = 8;

// Calls `action` with each index below `count`, on several threads.
template <typename Action>
void for_each_index(std::size_t count, std::size_t threads, const Action& action) {
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) action(i);
  };
  std::vector<std::jthread> others;
  try {
    for (std::size_t i = 1; i < threads; ++i) others.emplace_back(work);
  } catch (const std::system_error&) {
    // No more threads are available: the existing ones do the work.
  }
  work();
}

}  // namespace

std::uint64_t visited_elements(const ChaseProgram& program, std::size_t array, std::uint32_t chain) {
  std::uint64_t visited = 0;
  for (const ChaseStep& step : program.steps) {
    const bool of_array = step.array == array || program.arrays[step.array].alias_of == array;
    if (!of_array || step.chain != chain || step.kind == StepKind::kTouch) continue;
    visited = std::max(visited, step.first + step.loads + 1);  // the last visited link leads to one more
  }
  return std::min(visited, program.arrays[array].chain_length());
}

void ChainOrders::keep(const Key& key, std::vector<std::uint32_t> order) {
  if (kept_bytes_ > kMaxKeptBytes) {
    kept_.clear();
    kept_bytes_ = 0;
  }
  std::vector<std::uint32_t>& kept = kept_[key];
  kept_bytes_ += (order.size() - kept.size()) * sizeof(std::uint32_t);
  kept = std::move(order);
}

void ChainOrders::prepare(std::span<const Chain> chains) {
  std::map<Key, Chain> longest;
  for (const Chain& chain : chains) {
    const auto [found, is_new] = longest.emplace(key_of(*chain.array, chain.chain), chain);
    if (found->second.count < chain.count) found->second = chain;
  }
  std::vector<Chain> missing;
  std::uint64_t elements = 0;
  for (const auto& [key, chain] : longest) {
    const auto kept = kept_.find(key);
    if (kept != kept_.end() && kept->second.size() >= chain.count) continue;
    missing.push_back(chain);
    elements += chain.count;
  }
  if (elements * sizeof(std::uint32_t) > kMaxKeptBytes) return;  // they would evict one another
  const std::size_t threads = std::min({missing.size(), static_cast<std::size_t>(elements / kElementsPerThread),
                                        static_cast<std::size_t>(std::thread::hardware_concurrency()), kMaxThreads});
  std::vector<std::vector<std::uint32_t>> orders(missing.size());
  for_each_index(missing.size(), threads, [&](std::size_t i) {
    orders[i] = chain_order(*missing[i].array, missing[i].chain, missing[i].count);
  });
  for (std::size_t i = 0; i < missing.size(); ++i) {
    keep(key_of(*missing[i].array, missing[i].chain), std::move(orders[i]));
  }
}

const std::vector<std::uint32_t>& ChainOrders::shuffled(const Chain& chain) {
  const Key key = key_of(*chain.array, chain.chain);
  const auto found = kept_.find(key);
  if (found != kept_.end() && found->second.size() >= chain.count) return found->second;
  keep(key, chain_order(*chain.array, chain.chain, chain.count));
  return kept_[key];
}

std::uint64_t ChainOrders::element_at(const ChaseArray& array, std::uint32_t chain, std::uint64_t position) {
  const Order order = order_of(array, chain);
  if (order == Order::kShuffled) {
    // The positions of the list are shuffled. Such lists are short.
    return array.elements.empty() ? shuffled({&array, chain, position + 1})[position]
                                  : chain_order(array, chain)[position];
  }
  const std::uint64_t place = order == Order::kReversed ? array.chain_length() - 1 - position : position;
  return array.elements.empty() ? place : array.elements[place];
}

}  // namespace gputopo::launch
