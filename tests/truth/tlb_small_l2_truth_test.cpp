// TLBs before an L2 whose sets or size leave little room for lines of many pages. Cache misses then look like a TLB
// level, so the probe must choose lines that stay in L2.
#include <gtest/gtest.h>

#include <utility>

#include "support/draw.h"
#include "support/trial.h"
#include "support/two_level_machine.h"
#include "support/wide_machine.h"

namespace gputopo {
namespace {

struct SmallL2 {
  std::uint64_t bytes = 0;
  std::uint32_t ways = 16;
};

sim::MachineSpec machine_of_tlb(const SmallL2& l2, std::uint32_t entries) {
  sim::MachineSpec machine = test::two_level_machine();
  machine.caches[0].size_bytes = 4 << 10;
  machine.caches[1].size_bytes = l2.bytes;
  machine.caches[1].ways = l2.ways;
  machine.tlbs = {{.page_bytes = 512 << 10, .entries = entries, .ways = 0, .miss_cycles = 80}};
  machine.noise.jitter_cycles = 0.5;
  return machine;
}

double entries_found(const sim::MachineSpec& machine) {
  DiscoverOptions options;
  options.elements = {"tlb_l1"};
  const truth::Discovered found = truth::discover_machine(machine, 1, std::move(options));
  const Attribute& penalty = *found.topology.find_attribute("tlb_l1", "miss_penalty");
  EXPECT_NEAR(penalty.number().value_or(0), machine.tlbs[0].miss_cycles, 2) << penalty.detail;
  const Attribute& entries = *found.topology.find_attribute("tlb_l1", "entries");
  EXPECT_TRUE(entries.number()) << entries.detail;
  return entries.number().value_or(0);
}

// The noise was once measured on 1024 lines, 512 B apart, which fell into a quarter of the sets and were evicted.
TEST(TlbOfSmallL2, LinesThatAreNoiseAloneStay) {
  EXPECT_EQ(entries_found(machine_of_tlb({.bytes = 256 << 10}, 60)), 60);
}

// Lines at page starts, staggered over 4 KiB, fall into 32 of 2048 sets of four ways.
TEST(TlbOfSmallL2, LinesAreSpreadWhereStaggeredOnesMeet) {
  EXPECT_EQ(entries_found(machine_of_tlb({.bytes = 1 << 20, .ways = 4}, 200)), 200);
}

// 128 lines at once are a twelfth of those that stay in L2.
TEST(TlbOfSmallL2, MorePagesAreLoadedWhereFewShowNoLevel) {
  EXPECT_EQ(entries_found(machine_of_tlb({.bytes = 256 << 10}, 150)), 150);
}

TEST(TlbOfSmallL2, FewLinesShowAFewEntries) { EXPECT_EQ(entries_found(machine_of_tlb({.bytes = 64 << 10}, 12)), 12); }

// Misses cost 7 to 13 cycles in noise of 3 to 5. Slow loads show them once half of the pages miss; the mean of all
// loads shows them sooner. No entries are reported, and the interval of the reach must be as wide as the uncertainty.
TEST(TlbOfSmallL2, ReachThatNoiseHidesIsNoSurerThanThat) {
  int told = 0;
  for (const std::uint64_t seed : {1277, 1295, 1517}) {
    SCOPED_TRACE(seed);
    const sim::MachineSpec machine = truth::wide_machine(seed);
    DiscoverOptions options;
    options.elements = {"tlb_l1"};
    options.attributes = {"reach"};
    const truth::Discovered found = truth::discover_machine(machine, seed, std::move(options));
    const Attribute& reach = *found.topology.find_attribute("tlb_l1", "reach");
    const auto truth = static_cast<double>(machine.tlbs[0].page_bytes * machine.tlbs[0].entries);
    if (!reach.available()) continue;
    ++told;
    EXPECT_LE(*reach.low, truth);
    EXPECT_GE(*reach.high, truth);
  }
  EXPECT_GE(told, 2) << "the seeds draw machines without such a level: take others";
}

// A second TLB of fewer, larger entries than the first, which holds as many pages as fit the second: walks over one
// line on each page then show the first one's entries.
TEST(TlbBehindLargerOne, HasTheReachThatFinerPagesShow) {
  truth::Draw draw(1);
  int told = 0;
  constexpr int kMachines = 12;
  for (int trial = 0; trial < kMachines; ++trial) {
    sim::MachineSpec machine = test::two_level_machine();
    machine.caches[0].size_bytes = 4 << 10;
    machine.caches[1].size_bytes = 24 << 20;
    machine.caches[1].ways = 16;
    machine.info.memory_bytes = 64ull << 30;
    const auto entries = draw.pick<std::uint32_t>({12, 16, 24, 32, 48});
    const auto fewer = static_cast<std::uint32_t>(draw.uniform(0.4, 1) * entries);
    machine.tlbs = {{.page_bytes = 64 << 10, .entries = entries, .ways = 0, .miss_cycles = draw.uniform(20, 80)},
                    {.page_bytes = 1 << 20, .entries = fewer, .ways = 0, .miss_cycles = draw.uniform(80, 200)}};
    machine.noise.jitter_cycles = draw.uniform(0, 1.5);
    DiscoverOptions options;
    options.elements = {"tlb_l2"};
    options.attributes = {"reach", "entries", "ways"};
    const truth::Discovered found = truth::discover_machine(machine, 1, std::move(options));
    for (const auto& [what, truth] : {std::pair("entries", double{1}), std::pair("reach", double{1 << 20})}) {
      const Attribute& attribute = *found.topology.find_attribute("tlb_l2", what);
      if (!attribute.available()) continue;
      ++told;
      EXPECT_LE(*attribute.low, truth * fewer) << what << " of " << entries << " and " << fewer << " entries";
      EXPECT_GE(*attribute.high, truth * fewer) << what << " of " << entries << " and " << fewer << " entries";
    }
    const Attribute& ways = *found.topology.find_attribute("tlb_l2", "ways");
    if (ways.available()) {
      EXPECT_EQ(ways.number(), fewer);
    }
  }
  EXPECT_GE(told, kMachines) << "a report that says nothing is never wrong";
}

}  // namespace
}  // namespace gputopo
