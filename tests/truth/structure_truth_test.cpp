// Structure: sets, ways, index and replacement of the nearest caches of random machines (support/random_machine.h), and
// which SMs are near which L2 partition.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <bit>
#include <map>

#include "device/sim/machine.h"
#include "gputopo/discover.h"
#include "support/draw.h"
#include "support/random_machine.h"
#include "support/seeds.h"

namespace gputopo {
namespace {

struct Tally {
  int total = 0;
  int right = 0;
  int silent = 0;
  int outside = 0;  // a value whose interval misses the truth
};

std::string replacement_of(const sim::CacheSpec& cache, std::uint64_t ways) {
  if (ways == 1) return "none";
  switch (cache.replacement) {
    case sim::Replacement::kLru:
      return "lru";
    case sim::Replacement::kTreePlru:
      return ways == 2 ? "lru" : "pseudo_lru";  // of two ways the tree knows which is the older
    case sim::Replacement::kFifo:
      return "fifo";
    case sim::Replacement::kRandom:
      break;
  }
  return "random";
}

struct Outcome {
  std::map<std::string, Tally> tallies;
  std::string misses;
};

void judge_machine(std::uint64_t seed, Outcome& outcome) {
  const sim::MachineSpec machine = truth::random_machine(seed);
  const std::unique_ptr<Device> device = sim::make_sim_device(machine, seed, 1);
  DiscoverOptions options;
  options.attributes = {"ways", "sets", "index", "replacement"};
  options.elements = {"l1", "texture", "readonly", "constant_l1", "constant_l15"};
  options.seed = seed;
  options.budget_seconds = 600;
  options.keep_samples = false;
  truth::log_if_asked(seed, options);
  const Topology topology = discover(*device, options);
  struct Element {
    const char* id;
    Space space;
    std::size_t depth;
  };
  const Element elements[] = {{"l1", Space::kGlobal, 0},
                              {"texture", Space::kTexture, 0},
                              {"readonly", Space::kReadOnly, 0},
                              {"constant_l1", Space::kConstant, 0},
                              {"constant_l15", Space::kConstant, 1}};
  for (const auto& [id, space, depth] : elements) {
    const std::string& name = machine.spaces.at(space).path.at(depth).cache;
    if (name == "l2") continue;  // no L1 caches these loads, or no L1.5
    const auto cache = std::find_if(machine.caches.begin(), machine.caches.end(),
                                    [&](const sim::CacheSpec& spec) { return spec.id == name; });
    const std::uint64_t lines = cache->size_bytes / cache->line_bytes;
    const std::uint64_t ways = cache->ways == 0 ? lines : cache->ways;
    const std::uint64_t sets = lines / ways;
    const std::string shape = fmt::format("{} B, {} B lines, {} ways, {} sets, replacement {}, index {}",
                                          cache->size_bytes, cache->line_bytes, ways, sets,
                                          static_cast<int>(cache->replacement), static_cast<int>(cache->index));
    const auto judge = [&](const char* what, bool right, bool outside) {
      const Attribute& attribute = *topology.find_attribute(id, what);
      Tally& tally = outcome.tallies[depth == 0 ? what : fmt::format("{} of {}", what, id)];
      ++tally.total;
      tally.right += right ? 1 : 0;
      tally.silent += attribute.available() ? 0 : 1;
      tally.outside += attribute.available() && outside ? 1 : 0;
      if (right) return;
      const auto* text = std::get_if<std::string>(&attribute.value);
      outcome.misses +=
          fmt::format("seed {} {}.{}: {} {}{}, truth {}\n", seed, id, what, attribute.number().value_or(-1),
                      text != nullptr ? *text : "", attribute.detail, shape);
    };
    const auto judge_number = [&](const char* what, std::uint64_t truth) {
      const Attribute& attribute = *topology.find_attribute(id, what);
      const auto wanted = static_cast<double>(truth);
      judge(what, attribute.number() == wanted,
            attribute.available() && (wanted < *attribute.low || wanted > *attribute.high));
    };
    const auto judge_name = [&](const char* what, const std::string& truth) {
      const bool right = topology.find_attribute(id, what)->value == Value(truth);
      judge(what, right, !right);
    };
    judge_number("ways", ways);
    judge_number("sets", sets);
    const bool modulo = cache->index == sim::IndexHash::kModulo;
    judge_name("index", sets == 1 ? "none" : modulo ? "modulo" : "hashed");
    judge_name("replacement", replacement_of(*cache, ways));
  }
}

TEST(StructureTruth, RandomMachines) {
  // A machine has up to four such caches, and they take as long as all the rest of it.
  Outcome outcome;
  const auto judge = [](std::uint64_t seed) {
    Outcome one;
    judge_machine(seed, one);
    return one;
  };
  truth::judge_seeds(truth::first_seed(), truth::machines_wanted() / 4 + 1, judge, [&](const Outcome& one) {
    for (const auto& [what, tally] : one.tallies) {
      Tally& sum = outcome.tallies[what];
      sum.total += tally.total;
      sum.right += tally.right;
      sum.silent += tally.silent;
      sum.outside += tally.outside;
    }
    outcome.misses += one.misses;
  });
  std::string summary;
  for (const auto& [what, tally] : outcome.tallies) {
    summary += fmt::format("{}: {} of {} right, {} without a value, {} outside their interval\n", what, tally.right,
                           tally.total, tally.silent, tally.outside);
  }
  SCOPED_TRACE(summary + outcome.misses);
  fmt::print("{}{}", summary, outcome.misses);
  for (const auto& [what, tally] : outcome.tallies) {
    EXPECT_GE(tally.right, 0.97 * tally.total) << what;
    EXPECT_LE(tally.outside, 0.01 * tally.total) << what;
  }
}

// Machines whose SMs are near one of two L2 partitions, as drawn: the halves come out, whatever the noise.
TEST(MapTruth, SmsNearEachPartition) {
  truth::Draw draw(1);
  int told = 0;
  for (int trial = 0; trial < 12; ++trial) {
    sim::MachineSpec machine = sim::parse_machine(*sim::builtin_machine("h200"));
    machine.info.sm_count = trial % 2 == 0 ? 132 : 24;
    machine.sm_groups.clear();
    machine.clusters.reset();
    for (sim::CacheSpec& cache : machine.caches) {
      if (cache.scope == sim::Scope::kGroup) cache.scope = sim::Scope::kSm;
      if (cache.id == "l2") cache.size_bytes = 8u << 20;
    }
    machine.info.l2_bytes = 8u << 20;
    machine.sms_near_first_partition = static_cast<std::uint32_t>(draw.uniform(0.2, 0.8) * machine.info.sm_count);
    machine.slices = sim::SliceSpec{.count = static_cast<std::uint32_t>(draw.uniform(8, 100)),
                                    .partition_cycles = draw.uniform(8, 25),
                                    .tpc_cycles = draw.uniform(0, 8)};
    machine.noise.jitter_cycles = draw.uniform(0, 3);
    const std::unique_ptr<Device> device = sim::make_sim_device(machine, 1, 0);
    DiscoverOptions options;
    options.elements = {"l2"};
    options.attributes = {"near_sms"};
    const Topology topology = discover(*device, options);
    const Attribute& near = *topology.find_attribute("l2", "near_sms");
    // Where TPCs differ as much as partitions do, there may be no telling; a wrong answer there is none.
    if (!near.available()) {
      EXPECT_EQ(near.reason, Reason::kInconclusive) << near.detail;
      continue;
    }
    ++told;
    std::vector<std::vector<std::uint32_t>> truth(2);
    for (std::uint32_t sm = 0; sm < machine.info.sm_count; ++sm) {
      truth[sm < machine.sms_near_first_partition ? 0 : 1].push_back(sm);
    }
    const std::vector<std::string> wanted = {fmt::format("{}", fmt::join(truth[0], "+")),
                                             fmt::format("{}", fmt::join(truth[1], "+"))};
    EXPECT_EQ(std::get<std::vector<std::string>>(near.value), wanted)
        << trial << ": " << machine.slices->count << " slices, " << machine.slices->partition_cycles << " and "
        << machine.slices->tpc_cycles << " cycles, correlations "
        << std::get<double>(*near.find_detail("correlation_within")) << " and "
        << std::get<double>(*near.find_detail("correlation_between"));
  }
  EXPECT_GE(told, 10);
}

}  // namespace
}  // namespace gputopo
