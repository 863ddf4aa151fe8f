// Random machines by their seeds, side by side.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace gputopo::truth {

// The number in an environment variable, or `otherwise`.
inline std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// How many random machines a truth test takes that takes them all.
inline std::uint64_t machines_wanted() { return number_from_environment("GPUTOPO_TRUTH_MACHINES", 200); }

// judge(seed) of `count` seeds from `first` on, on all cores; then add(what it returned), one at a time.
template <typename Judge, typename Add>
void judge_seeds(std::uint64_t first, std::uint64_t count, const Judge& judge, const Add& add) {
  std::mutex mutex;
  std::atomic<std::uint64_t> next = first;
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i) {
    threads.emplace_back([&] {
      for (std::uint64_t seed = next++; seed < first + count; seed = next++) {
        auto outcome = judge(seed);
        const std::lock_guard lock(mutex);
        add(std::move(outcome));
      }
    });
  }
}

}  // namespace gputopo::truth
