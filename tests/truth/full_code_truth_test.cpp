// Values of code that --full adds, on random machines: jumps, and constants as operands of instructions.
#include <gtest/gtest.h>

#include <algorithm>

#include "device/sim/machine/machine.h"
#include "support/seeds.h"
#include "support/trial.h"

namespace gputopo::truth {
namespace {

// Few values can be measured; at least `least_told` of them must be right.
void expect_right_or_silent(const Tally& tally, std::uint64_t machines, double least_told) {
  SCOPED_TRACE(tally.text);
  const int asked = tally.right + tally.wrong + tally.flagged + tally.silent;
  EXPECT_GE(asked, static_cast<int>(machines / 2));
  EXPECT_LE(tally.wrong, 0.01 * tally.right);
  EXPECT_LE(tally.flagged, 0.1 * tally.right);
  EXPECT_GE(tally.right, least_told * asked);
}

TEST(JumpTruth, OfRandomMachinesAreRightOrNotTold) {
  // Few machines report such a value, and each machine takes little time.
  const std::uint64_t machines = std::max<std::uint64_t>(machines_wanted(), 100);
  const Tally tally = tally_wide_machines(machines, [](const Truth& one) {
    return one.element == "icache_l0" ||
           (one.element.starts_with("icache") && (one.attribute == "latency" || one.attribute == "fetch_size"));
  });
  expect_right_or_silent(tally, machines, 0.08);
}

TEST(OperandTruth, OfRandomMachinesAreRightOrNotTold) {
  const std::uint64_t machines = machines_wanted();
  const Tally tally =
      tally_wide_machines(machines, [](const Truth& one) { return one.element == "constant_operands"; });
  expect_right_or_silent(tally, machines, 0.2);
}

class OperandMachine : public ::testing::Test {
 protected:
  static sim::MachineSpec machine() {
    sim::MachineSpec spec;
    spec.info.vendor = "NVIDIA";
    spec.info.name = "operands";
    spec.info.sm_count = 2;
    spec.info.constant_bytes = 64 << 10;
    spec.spaces[Space::kGlobal].memory_latency_cycles = 500;
    spec.caches = {{.id = "constant_l1", .size_bytes = 2048, .line_bytes = 64, .sector_bytes = 64, .ways = 4},
                   {.id = "icache_l1", .size_bytes = 32 << 10, .line_bytes = 128, .sector_bytes = 128, .ways = 4}};
    spec.spaces[Space::kConstant] = {{{"constant_l1", 30, 0}}, 120};
    spec.code = sim::CodeSpec{.path = {{"icache_l1", 1}},
                              .memory_cycles_per_instruction = 4,
                              .operand_path = {{"constant_l1", 18}},
                              .memory_operand_cycles = 73,
                              .loop_cycles = 100};
    return spec;
  }
  void discover_operands(const sim::MachineSpec& spec) {
    DiscoverOptions options;
    options.elements = {"constant_operands"};
    options.full = true;
    found_ = discover_machine(spec, 1, std::move(options)).topology;
  }
  const Attribute& attribute(const char* id) { return *found_.find_attribute("constant_operands", id); }

  Topology found_;
};

// Same structure as on an H100.
TEST_F(OperandMachine, AllOfASetsLinesMissAtOnce) {
  discover_operands(machine());
  EXPECT_EQ(attribute("size").number(), 2048);
  EXPECT_LT(*attribute("size").high, 2048 + 64);
  EXPECT_EQ(attribute("ways").number(), 4);
  EXPECT_NEAR(attribute("miss_penalty").number().value_or(0), 55, 0.5);
  EXPECT_EQ(attribute("shared_with").value, Value(std::vector<std::string>{"constant_l1"}));
}

TEST_F(OperandMachine, ACacheOfTheirOwnIsSharedWithNoLoads) {
  sim::MachineSpec spec = machine();
  spec.caches.push_back({.id = "own", .size_bytes = 1024, .line_bytes = 64, .sector_bytes = 64, .ways = 4});
  spec.code->operand_path = {{"own", 10}, {"constant_l1", 40}};
  discover_operands(spec);
  EXPECT_EQ(attribute("size").number(), 1024);
  EXPECT_EQ(attribute("ways").number(), 4);
  EXPECT_NEAR(attribute("miss_penalty").number().value_or(0), 30, 0.5);
  EXPECT_EQ(attribute("shared_with").value, Value(std::vector<std::string>{}));
}

// A line that was hit twice survives all loads of lines that are hit once or never.
TEST_F(OperandMachine, ThatKeepsWhatWasHitTwiceIsSharedAllTheSame) {
  sim::MachineSpec spec = machine();
  spec.caches[0].replacement = sim::Replacement::kSegmentedLru;
  spec.caches[0].protected_ways = 2;
  discover_operands(spec);
  EXPECT_EQ(attribute("shared_with").value, Value(std::vector<std::string>{"constant_l1"}));
}

// Each operand takes a 32-B line of one set. The cache holds nothing of the bytes between two operands.
TEST_F(OperandMachine, OfShortLinesNoSizeIsTold) {
  sim::MachineSpec spec = machine();
  spec.caches[0].line_bytes = spec.caches[0].sector_bytes = 32;
  spec.caches[0].ways = 64;
  discover_operands(spec);
  EXPECT_EQ(attribute("size").reason, Reason::kInconclusive) << attribute("size").number().value_or(0);
}

// A miss fetches half a line.
TEST_F(OperandMachine, OfLinesInSectorsNoMissPenaltyIsTold) {
  sim::MachineSpec spec = machine();
  spec.caches[0].size_bytes = 4096;
  spec.caches[0].line_bytes = 128;
  discover_operands(spec);
  EXPECT_LE(attribute("size").low.value_or(1e9), 4096);
  EXPECT_GE(attribute("size").high.value_or(0), 4096);
  EXPECT_EQ(attribute("miss_penalty").reason, Reason::kInconclusive);
  EXPECT_EQ(attribute("ways").reason, Reason::kInconclusive);
}

TEST_F(OperandMachine, ThatAllFitIsNotASize) {
  sim::MachineSpec spec = machine();
  spec.caches[0].size_bytes = 48 << 10;
  discover_operands(spec);
  EXPECT_FALSE(attribute("size").available());
}

TEST_F(OperandMachine, WithoutThemItIsNotSupported) {
  sim::MachineSpec spec = machine();
  spec.code->operand_path.clear();
  spec.code->memory_operand_cycles = 0;
  discover_operands(spec);
  EXPECT_EQ(attribute("size").reason, Reason::kNotSupported);
}

}  // namespace
}  // namespace gputopo::truth
