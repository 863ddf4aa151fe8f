// Runs random machines by their seeds, in parallel.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "gputopo/discover.h"

namespace gputopo::truth {

// The number in an environment variable, or `otherwise`.
inline std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// The number of random machines that every test run draws. It is fixed, so the result is the same everywhere.
inline constexpr std::uint64_t kMachines = 40;

// The number of machines of a truth test that draws all of them.
inline std::uint64_t machines_wanted() { return number_from_environment("GPUTOPO_TRUTH_MACHINES", kMachines); }

// With GPUTOPO_TRUTH_VERBOSE set, logs to standard error what each probe decides and why.
inline void log_if_asked(std::uint64_t seed, DiscoverOptions& options) {
  if (std::getenv("GPUTOPO_TRUTH_VERBOSE") == nullptr) return;
  options.on_log = [seed](const std::string& line) { fmt::print(stderr, "seed {}: {}\n", seed, line); };
}

// The seed of the first machine of a truth test.
inline std::uint64_t first_seed() { return number_from_environment("GPUTOPO_TRUTH_SEED", 1); }

// Calls judge(seed) for `count` seeds from `first` on, on all cores, and add(result) one at a time.
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
