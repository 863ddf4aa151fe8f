// TLBs of random machines of both vendors: one or two levels of random page size, entries, ways and miss penalty.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "device/sim/machine/machine.h"
#include "device/sim/machine_file.h"
#include "device/sim/sim_device.h"
#include "support/draw.h"
#include "support/random_machine.h"
#include "support/seeds.h"
#include "support/trial.h"

namespace gputopo {
namespace {

// The choices for TLB levels that depend on the machine.
struct Choice {
  std::vector<sim::Scope> first_scopes;
  std::vector<sim::Scope> scopes;
  // Limits for a level that can be measured whole: L2 must hold its lines, and memory must exceed its reach.
  std::uint32_t most_entries = 0;
  std::uint64_t most_reach_bytes = 0;
};

sim::MachineSpec with_random_tlbs(truth::Draw draw, sim::MachineSpec machine, const Choice& choice) {
  truth::take_groups(machine, 24);  // the TLB of each SM is tested separately
  machine.noise.jitter_cycles = draw.uniform(0, 3);
  machine.noise.outlier_probability = draw.uniform(0, 0.002);
  machine.tlbs.clear();
  const std::uint64_t pages[] = {64u << 10, 512u << 10, 2u << 20, 32u << 20};
  const std::uint32_t entries[] = {16, 32, 64, 128, 512};
  const std::uint32_t ways[] = {0, 2, 4, 8, 16};
  const int levels = draw.uniform(0, 1) < 0.5 ? 1 : 2;
  for (int level = 0; level < levels; ++level) {
    sim::TlbSpec tlb;
    tlb.page_bytes = draw.pick(pages);
    tlb.entries = draw.pick(entries);
    if (level > 0) {
      // Entries as large as those of the first level or, as on a GT200, much smaller. The reach is still well beyond
      // that of the first level, as on the GPUs of the papers.
      const sim::TlbSpec& before = machine.tlbs[0];
      const std::uint32_t parts = draw.chance(0.25) ? 16 : 1;
      tlb.page_bytes = std::max(pages[0], before.page_bytes / parts);
      tlb.entries = before.entries * (draw.chance(0.5) ? 8 : 16);
      tlb.entries *= static_cast<std::uint32_t>(before.page_bytes / tlb.page_bytes);
      while (tlb.entries > choice.most_entries || tlb.page_bytes * tlb.entries > choice.most_reach_bytes) {
        tlb.entries /= 2;
      }
      if (tlb.page_bytes * tlb.entries < 4 * before.page_bytes * before.entries) break;
    }
    tlb.ways = std::min(draw.pick(ways), tlb.entries);
    // At least the 6 cycles of Kepler, and clear of the jitter.
    tlb.miss_cycles = draw.log_uniform(std::max(6.0, 4 * machine.noise.jitter_cycles), 300);
    // Shared by at least as many SMs as the first level.
    tlb.scope = draw.pick(level == 0 ? choice.first_scopes : choice.scopes);
    if (level > 0) tlb.scope = std::max(tlb.scope, machine.tlbs[0].scope);
    machine.tlbs.push_back(tlb);
  }
  return machine;
}

sim::MachineSpec random_tlb_machine(std::uint64_t seed) {
  const std::vector<sim::Scope> scopes = {sim::Scope::kSm, sim::Scope::kTpc, sim::Scope::kGpu};
  return with_random_tlbs(truth::Draw(seed), sim::parse_machine(*sim::builtin_machine("h200")),
                          {scopes, scopes, 8192, 48ull << 30});
}

// With and without an L3, with one die and several: a UTCL1 for each CU, and a UTCL2 for each die or the GPU.
sim::MachineSpec random_amd_tlb_machine(std::uint64_t seed) {
  truth::Draw draw(seed + 1'000'000);
  sim::MachineSpec machine = sim::parse_machine(*sim::builtin_machine(draw.pick<const char*>({"mi210", "mi300x"})));
  machine.info.xcd_count = draw.pick<std::uint32_t>({1, 2, 4});
  machine.info.physical_sm_ids.reset();
  constexpr std::uint64_t kL2BytesOfEntry = 4096;
  return with_random_tlbs(draw, machine,
                          {.first_scopes = {sim::Scope::kSm},
                           .scopes = {sim::Scope::kXcd, sim::Scope::kGpu},
                           .most_entries = static_cast<std::uint32_t>(*machine.info.l2_bytes / kL2BytesOfEntry),
                           .most_reach_bytes = std::min<std::uint64_t>(*machine.info.memory_bytes / 3, 48ull << 30)});
}

// TLBs before unusual caches, whose misses must not be taken for TLB misses.
sim::MachineSpec random_small_cache_machine(std::uint64_t seed) {
  truth::Draw draw(seed + 2'000'000);
  sim::MachineSpec machine = truth::random_amd_machine(seed);
  machine.info.xcd_count = 1;
  return with_random_tlbs(draw, machine, {{sim::Scope::kSm}, {sim::Scope::kXcd}, 8192, 2ull << 30});
}

std::string scope_name(const sim::MachineSpec& machine, sim::Scope scope) {
  const DeviceInfo& info = machine.info;
  std::uint32_t sms = info.sm_count;
  if (scope == sim::Scope::kSm) sms = 1;
  if (scope == sim::Scope::kTpc) sms = machine.sms_per_tpc;
  if (scope == sim::Scope::kXcd) sms = info.sm_count / info.xcd_count.value();
  const std::string unit = unit_name(info.vendor);
  return sms == 1 ? unit : sms == info.sm_count ? "GPU" : fmt::format("{} {}s", sms, unit);
}

struct TlbTally {
  int total = 0;
  int right = 0;
  int silent = 0;
  int outside = 0;
};

// The least share of right values, and the largest share of values outside their intervals.
struct Bars {
  double right = 0.99;
  double outside = 0.01;
};

void judge_tlbs(sim::MachineSpec (*make)(std::uint64_t), std::uint64_t machines, const Bars& bars = {}) {
  std::map<std::string, TlbTally> tallies;
  std::string misses;
  const auto discover_tlbs = [make](std::uint64_t seed) {
    DiscoverOptions options;
    options.elements = {"tlb"};
    options.full = true;
    return truth::discover_machine(make(seed), seed, std::move(options));
  };
  const auto add = [&](const truth::Discovered& found) {
    const std::uint64_t seed = found.seed;
    const sim::MachineSpec& machine = found.machine;
    const Topology& topology = found.topology;
    for (std::size_t level = 0; level < machine.tlbs.size(); ++level) {
      const sim::TlbSpec& tlb = machine.tlbs[level];
      const std::string id = fmt::format("tlb_l{}", level + 1);
      const auto judge = [&](const char* what, double truth, double tolerance) {
        const Attribute& attribute = *topology.find_attribute(id, what);
        TlbTally& tally = tallies[what];
        const double value = attribute.number().value_or(-1);
        const bool right = attribute.available() && std::abs(value - truth) <= tolerance;
        ++tally.total;
        tally.right += right ? 1 : 0;
        tally.silent += attribute.available() ? 0 : 1;
        tally.outside += attribute.available() && !right && (truth < *attribute.low || truth > *attribute.high);
        if (right) return;
        misses += fmt::format(
            "seed {} {}.{}: {} [{}, {}] {}, truth {} ({} entries of {} B, {} ways, {:.0f} cycles, {} levels)\n", seed,
            id, what, value, attribute.low.value_or(-1), attribute.high.value_or(-1), attribute.detail, truth,
            tlb.entries, tlb.page_bytes, tlb.ways, tlb.miss_cycles, machine.tlbs.size());
      };
      judge("reach", static_cast<double>(tlb.page_bytes) * tlb.entries, 0);
      judge("entry_bytes", static_cast<double>(tlb.page_bytes), 0);
      judge("entries", tlb.entries, 0);
      const Attribute& scope = *topology.find_attribute(id, "scope");
      const std::string truth = scope_name(machine, tlb.scope);
      const bool same = scope.available() && std::get<std::string>(scope.value) == truth;
      TlbTally& tally = tallies["scope"];
      ++tally.total;
      tally.right += same ? 1 : 0;
      tally.silent += scope.available() ? 0 : 1;
      tally.outside += scope.available() && !same ? 1 : 0;
      if (!same)
        misses += fmt::format("seed {} {}.scope: {} {}, truth {}\n", seed, id,
                              scope.available() ? std::get<std::string>(scope.value) : "", scope.detail, truth);
      judge("miss_penalty", tlb.miss_cycles, std::max(2.0, 0.03 * tlb.miss_cycles));
    }
  };
  truth::judge_seeds(truth::first_seed(), machines, discover_tlbs, add);
  std::string summary;
  for (const auto& [what, tally] : tallies) {
    summary += fmt::format("{}: {} of {} right, {} without a value, {} outside their interval\n", what, tally.right,
                           tally.total, tally.silent, tally.outside);
  }
  SCOPED_TRACE(summary + misses);
  fmt::print("{}{}", summary, misses);
  EXPECT_EQ(tallies.size(), 5u);
  for (const auto& [what, tally] : tallies) {
    EXPECT_GE(tally.total, static_cast<int>(machines)) << what << ": each machine has a level or two";
    EXPECT_GE(tally.right, bars.right * tally.total) << what;
    EXPECT_LE(tally.outside, bars.outside * tally.total) << what;
  }
}

TEST(TlbTruth, RandomMachines) { judge_tlbs(random_tlb_machine, truth::machines_wanted()); }

// Many levels have no value here. A few values come from lines that conflict in the cache, and are wrong.
TEST(TlbTruth, MissesOfSmallCachesAreNone) {
  judge_tlbs(random_small_cache_machine, (truth::machines_wanted() + 3) / 4, {.right = 0.4, .outside = 0.05});
}

// The miss penalty depends on the SM's partition, as on an H200, so SM 0 alone does not show it.
TEST(TlbTruth, MissesCostMoreOnTheFarSide) {
  sim::MachineSpec machine = sim::parse_machine(*sim::builtin_machine("h200"));
  truth::take_groups(machine, 24);
  machine.tlbs = {{.page_bytes = 2u << 20, .entries = 64, .miss_cycles = 95, .far_miss_cycles = 150}};
  DiscoverOptions options;
  options.elements = {"tlb_l1"};
  options.attributes = {"miss_penalty"};
  const Topology topology = discover(*sim::make_sim_device(machine, 1, 0), options);
  const Attribute& penalty = *topology.find_attribute("tlb_l1", "miss_penalty");
  ASSERT_TRUE(penalty.available()) << penalty.detail;
  const auto& cycles = std::get<std::vector<double>>(*penalty.find_detail("miss_cycles_by_sm"));
  const auto& sms = std::get<std::vector<double>>(*penalty.find_detail("sampled_sms"));
  ASSERT_EQ(cycles.size(), sms.size());
  double sum = 0;
  for (std::size_t i = 0; i < sms.size(); ++i) {
    const bool is_far = static_cast<int>(sms[i]) / 2 % 2 == 1;
    EXPECT_NEAR(cycles[i], is_far ? 150 : 95, 4) << "SM " << sms[i];
    sum += is_far ? 150 : 95;
  }
  EXPECT_NEAR(*penalty.number(), sum / static_cast<double>(sms.size()), 3);
  EXPECT_LT(*penalty.low, 110);
  EXPECT_GT(*penalty.high, 135);
}

TEST(TlbTruth, RandomAmdMachines) { judge_tlbs(random_amd_tlb_machine, (truth::machines_wanted() + 3) / 4); }

}  // namespace
}  // namespace gputopo
