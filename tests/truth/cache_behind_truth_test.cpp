// Two caches on the path that bypasses L1: one that some or all SMs share, and a larger one behind it. A method that
// takes the second for the far part of the first reports the sum of both, and a miss that goes to memory.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "device/sim/machine/machine.h"
#include "device/sim/machine_file.h"
#include "support/draw.h"
#include "support/random_machine.h"
#include "support/seeds.h"
#include "support/trial.h"

namespace gputopo {
namespace {

constexpr std::size_t kSms = 12;

sim::MachineSpec machine_of_two_caches(std::uint64_t seed) {
  truth::Draw draw(seed + 11'000'000);
  const double first_cycles = draw.uniform(90, 200);
  const double second_cycles = first_cycles * draw.uniform(1.3, 2.5);
  const double memory_cycles = second_cycles * draw.uniform(1.5, 2.5);
  const int line = draw.pick<int>({64, 128});
  const int ways = draw.pick<int>({4, 8, 16});
  const int sets = draw.pick<int>({128, 256, 384, 512});
  const std::uint64_t first_bytes = std::uint64_t{1} * line * ways * sets;
  const std::string scope = draw.chance(0.6) ? "group" : "gpu";
  const std::size_t of_group = draw.pick<std::size_t>({2, 3, 4, 6});
  std::uint64_t second_bytes = first_bytes * draw.pick<std::uint64_t>({3, 4, 6, 8, 16});
  // A cache as large as those of all groups together is the same as one cache with a near part for each group.
  if (scope == "group" && second_bytes == first_bytes * (kSms / of_group)) second_bytes *= 2;
  const char* replacement = draw.chance(0.7) ? "lru" : "random";
  const char* index = draw.chance(0.7) ? "modulo" : "mixed";
  std::string groups;
  for (std::size_t sm = 0; sm < kSms; ++sm) {
    groups += fmt::format("{}{}", sm % of_group == 0 ? (sm == 0 ? "[" : "], [") : ", ", sm);
  }
  return sim::parse_machine(fmt::format(
      R"({{"machine_version": 1,
           "info": {{"vendor": "NVIDIA", "name": "two caches", "compute_capability_major": 8,
                     "compute_capability_minor": 6, "sm_count": {}, "memory_bytes": 25769803776}},
           "caches": [{{"id": "l2", "size_bytes": {}, "line_bytes": {}, "sector_bytes": {}, "ways": {},
                        "replacement": "{}", "index": "{}", "scope": "{}"}},
                      {{"id": "behind", "size_bytes": {}, "line_bytes": {}, "sector_bytes": {}, "ways": 16,
                        "scope": "gpu"}}],
           "spaces": {{"global_bypass_l1": {{"path": [{{"cache": "l2", "latency_cycles": {}}},
                                                      {{"cache": "behind", "latency_cycles": {}}}],
                                             "memory_latency_cycles": {}}}}},
           "sm_groups": [{}]],
           "noise": {{"jitter_cycles": {}, "outlier_probability": {}}}, "timer_cycles": {}}})",
      kSms, first_bytes, line, line, ways, replacement, index, scope, second_bytes, line, line, first_cycles,
      second_cycles, memory_cycles, groups, draw.uniform(0, 3), draw.uniform(0, 0.01),
      std::round(draw.uniform(2, 30))));
}

TEST(CacheBehindTruth, ASecondCacheBehindL1IsNoFarPartOfTheFirst) {
  int values = 0;
  int silent = 0;
  std::string misses;
  const auto judge = [](std::uint64_t seed) {
    DiscoverOptions options;
    options.elements = {"l2", "device"};
    options.attributes = {"size", "latency", "miss_penalty", "ways", "sets", "partitions"};
    return truth::discover_machine(machine_of_two_caches(seed), seed, std::move(options));
  };
  const auto add = [&](const truth::Discovered& found) {
    const sim::CacheSpec& cache = truth::cache_of(found.machine, "l2");
    const sim::SpaceSpec& space = found.machine.spaces.at(Space::kGlobalBypassL1);
    const double first = space.path[0].latency_cycles;
    const std::tuple<const char*, const char*, double> truths[] = {
        {"l2", "size", static_cast<double>(cache.size_bytes)},
        {"l2", "latency", first},
        {"l2", "miss_penalty", space.path[1].latency_cycles - first},
        {"l2", "ways", cache.ways},
        {"l2", "sets", static_cast<double>(cache.size_bytes) / cache.ways / cache.line_bytes},
        {"l2", "partitions", -1},
        {"device", "latency", space.memory_latency_cycles}};
    for (const auto& [element, what, truth] : truths) {
      const Attribute& attribute = *found.topology.find_attribute(element, what);
      const bool has_none = truth < 0;
      if (!has_none) {
        ++values;
        silent += attribute.available() ? 0 : 1;
      }
      if (!attribute.available() || !attribute.low) continue;
      const bool is_flagged = !attribute.flags.empty();
      if (is_flagged || (!has_none && truth >= *attribute.low && truth <= *attribute.high)) continue;
      misses += fmt::format("seed {} {}.{}: {} [{}, {}], truth {}; replacement {}, index {}\n", found.seed, element,
                            what, *attribute.number(), *attribute.low, *attribute.high, truth,
                            static_cast<int>(cache.replacement), static_cast<int>(cache.index));
    }
  };
  truth::judge_seeds(truth::first_seed(), (truth::machines_wanted() + 1) / 2, judge, add);
  fmt::print("{} values, {} silent\n{}", values, silent, misses);
  EXPECT_EQ(misses, "");
  EXPECT_LE(silent, values / 5) << "a report that says nothing is never wrong";
}

}  // namespace
}  // namespace gputopo
