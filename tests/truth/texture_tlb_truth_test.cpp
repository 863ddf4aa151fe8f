// TLBs as seen by texture loads: TLBs that all loads share, separate TLBs, and TLBs that the SM's own cache hides.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "device/sim/machine/machine.h"
#include "device/sim/machine_file.h"
#include "gputopo/discover.h"
#include "support/seeds.h"
#include "support/trial.h"

namespace gputopo {
namespace {

constexpr std::uint64_t kKib = 1024;
constexpr std::uint64_t kMib = 1024 * kKib;

class TextureTlbTruth : public ::testing::Test {
 protected:
  void discover_machine(const sim::MachineSpec& machine, std::uint64_t seed = 1) {
    DiscoverOptions options;
    options.elements = {"texture_tlb"};
    options.full = true;
    found_ = truth::discover_machine(machine, seed, std::move(options)).topology;
  }
  const Attribute& attribute(const std::string& element, const char* id) { return *found_.find_attribute(element, id); }
  double number(const std::string& element, const char* id) {
    const Attribute& found = attribute(element, id);
    EXPECT_TRUE(found.available()) << element << "." << id << ": " << found.detail;
    return found.number().value_or(-1);
  }

  Topology found_;
};

sim::MachineSpec machine_of(const char* name) { return sim::parse_machine(*sim::builtin_machine(name)); }

// Wong et al. 2010, section IV-I2 and Table V.
TEST_F(TextureTlbTruth, OfGt200AreThoseThatWongFound) {
  discover_machine(machine_of("gt200"));
  EXPECT_EQ(number("texture_tlb_l1", "reach"), 8 * kMib);
  EXPECT_EQ(number("texture_tlb_l1", "entries"), 16);
  EXPECT_EQ(number("texture_tlb_l1", "entry_bytes"), 512 * kKib);
  EXPECT_EQ(number("texture_tlb_l1", "ways"), 16);
  EXPECT_NEAR(number("texture_tlb_l1", "miss_penalty"), 544 - 497, 2);
  // L2 has 256 KB and cannot hold a line for each of so many entries: memory serves them.
  EXPECT_EQ(number("texture_tlb_l2", "reach"), 16 * kMib);
  EXPECT_EQ(number("texture_tlb_l2", "entries"), 4096);
  EXPECT_EQ(number("texture_tlb_l2", "entry_bytes"), 4 * kKib);
  EXPECT_EQ(number("texture_tlb_l2", "ways"), 8);
  EXPECT_NEAR(number("texture_tlb_l2", "miss_penalty"), 753 - 544, 5);
}

// All loads share the TLBs if there are no separate ones.
TEST_F(TextureTlbTruth, AreThoseOfAllLoadsElsewhere) {
  const sim::MachineSpec machine = machine_of("h200");
  discover_machine(machine);
  const sim::TlbSpec& first = machine.tlbs.front();
  EXPECT_EQ(number("texture_tlb_l1", "entry_bytes"), static_cast<double>(first.page_bytes));
  EXPECT_EQ(number("texture_tlb_l1", "entries"), first.entries);
  EXPECT_NEAR(number("texture_tlb_l1", "miss_penalty"), first.miss_cycles, 0.05 * first.miss_cycles + 2);
}

TEST_F(TextureTlbTruth, OfTheirOwnAreNotThoseOfOtherLoads) {
  sim::MachineSpec machine = machine_of("h200");
  machine.texture_tlbs = {{.page_bytes = 512 * kKib, .entries = 32, .ways = 4, .miss_cycles = 60},
                          {.page_bytes = 512 * kKib, .entries = 512, .ways = 8, .miss_cycles = 150}};
  discover_machine(machine);
  for (std::size_t level = 0; level < machine.texture_tlbs.size(); ++level) {
    const sim::TlbSpec& tlb = machine.texture_tlbs[level];
    const std::string element = level == 0 ? "texture_tlb_l1" : "texture_tlb_l2";
    EXPECT_EQ(number(element, "entry_bytes"), static_cast<double>(tlb.page_bytes));
    EXPECT_EQ(number(element, "entries"), tlb.entries);
    const Attribute& penalty = attribute(element, "miss_penalty");
    EXPECT_LE(penalty.low.value_or(INFINITY), tlb.miss_cycles);
    EXPECT_GE(penalty.high.value_or(0), tlb.miss_cycles);
  }
  EXPECT_EQ(number("texture_tlb_l1", "ways"), 4);
}

// Hits in the texture cache need no translation. They must not be taken for TLB hits.
TEST_F(TextureTlbTruth, AreNotMistakenBehindACacheThatKeepsLinesAtRandom) {
  sim::MachineSpec machine = machine_of("gt200");
  std::ranges::find(machine.caches, "texture", &sim::CacheSpec::id)->replacement = sim::Replacement::kRandom;
  discover_machine(machine);
  const Attribute& reach = attribute("texture_tlb_l1", "reach");
  if (reach.available()) {
    EXPECT_EQ(reach.number(), 8 * kMib);
  } else {
    EXPECT_EQ(reach.reason, Reason::kInconclusive);
  }
}

// Lines that exceed the SM's own cache of 128 KiB reach farther than the first TLB level. It must not be denied.
TEST_F(TextureTlbTruth, ThatAreSmallerThanTheSmsCacheAreNotDenied) {
  sim::MachineSpec machine = machine_of("v100");
  machine.info.carve_outs_bytes.clear();
  machine.texture_tlbs = {{.page_bytes = 64 * kKib, .entries = 4, .ways = 0, .miss_cycles = 200}};
  discover_machine(machine);
  const Attribute& reach = attribute("texture_tlb_l1", "reach");
  if (reach.available()) {
    EXPECT_LE(*reach.low, 256 * kKib);
  } else {
    EXPECT_EQ(reach.reason, Reason::kInconclusive) << reach.detail;
  }
}

// No existing level is denied, whatever L2 and the SM's own cache hold, and hardly a value is wrong.
TEST_F(TextureTlbTruth, OfRandomMachinesAreRightOrNotTold) {
  const std::uint64_t machines = (truth::machines_wanted() + 3) / 4;
  const truth::Tally tally = truth::tally_wide_machines(
      machines, [](const truth::Truth& one) { return one.element.starts_with("texture_tlb"); });
  SCOPED_TRACE(tally.text);
  EXPECT_LE(tally.wrong, 0.02 * tally.right);
  // Caches that hide translation account for half of the values; most of the rest must be reported.
  const int asked = tally.right + tally.wrong + tally.flagged + tally.silent;
  EXPECT_GE(asked, static_cast<int>(2 * machines));
  EXPECT_GE(tally.right, 0.35 * asked);
}

}  // namespace
}  // namespace gputopo
