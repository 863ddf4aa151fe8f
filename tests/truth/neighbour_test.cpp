// Machines with another process that evicts all cached lines in its turns. No value measured during a turn may look
// like a property of the machine.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "device/sim/machine/machine.h"
#include "device/sim/machine_file.h"
#include "device/sim/sim_device.h"
#include "gputopo/discover.h"
#include "support/draw.h"

namespace gputopo::truth {
namespace {

// Turns as measured on an H200: 2.1 ms for each process.
constexpr sim::NeighbourSpec kStreaming{.turn_cycles = 4.15e6, .neighbour_turn_cycles = 4.85e6, .bandwidth_share = 0.6};

sim::MachineSpec machine_with(const std::string& name, std::optional<sim::NeighbourSpec> neighbour) {
  sim::MachineSpec machine = sim::parse_machine(*sim::builtin_machine(name));
  machine.neighbour = neighbour;
  return machine;
}

DiscoverOptions what_is_measured(const std::string& vendor) {
  DiscoverOptions options;
  options.elements = {"l1", "constant_l1", "tlb_l1", "device"};
  if (vendor == "AMD") options.elements = {"vl1", "sl1d", "tlb_l1", "device"};
  options.attributes = {"size", "latency", "line_size", "fetch_granularity", "reach", "read_bandwidth"};
  options.keep_samples = false;
  return options;
}

Topology discover_machine(const sim::MachineSpec& machine, std::uint64_t seed) {
  DiscoverOptions options = what_is_measured(machine.info.vendor);
  options.budget_seconds = 600;  // a minute is too short under sanitizers
  return discover(*sim::make_sim_device(machine, seed), options);
}

struct Difference {
  int values = 0;     // values of the idle machine
  int wrong = 0;      // more than 3% off
  int missing = 0;    // without a value
  int disturbed = 0;  // missing with the reason that the GPU was disturbed
  std::string text;
};

Difference compare(const Topology& idle, const Topology& busy) {
  Difference difference;
  for (const MemoryElement& element : idle.memory) {
    for (const auto& [name, before] : element.attributes) {
      const Attribute* now = busy.find_attribute(element.id, name);
      if (before.source != Source::kMeasured || !before.number()) continue;
      ++difference.values;
      if (!now->available()) {
        ++difference.missing;
        difference.disturbed += now->reason == Reason::kDisturbed ? 1 : 0;
        if (now->reason == Reason::kDisturbed) continue;
      } else if (std::abs(*now->number() - *before.number()) > 0.03 * std::abs(*before.number())) {
        ++difference.wrong;
      } else {
        continue;
      }
      difference.text += fmt::format("{}.{}: {} instead of {} ({})\n", element.id, name, now->number().value_or(-1),
                                     *before.number(), to_string(now->reason));
    }
  }
  return difference;
}

// The least number of compared values of an idle H200: a comparison of no values would find no difference.
constexpr int kLeastValues = 8;

TEST(Neighbour, ThatNobodyNoticesMakesValuesWrong) {
  sim::NeighbourSpec neighbour = kStreaming;
  neighbour.noticed = false;
  const Topology idle = discover_machine(machine_with("h200", std::nullopt), 1);
  const Difference difference = compare(idle, discover_machine(machine_with("h200", neighbour), 1));
  EXPECT_GT(difference.wrong + difference.missing, 0) << "the model of a neighbour is too kind";
}

TEST(Neighbour, ThatNeverRestsTakesValuesAwayButMakesNoneWrong) {
  const Topology idle = discover_machine(machine_with("h200", std::nullopt), 1);
  const Topology busy = discover_machine(machine_with("h200", kStreaming), 1);
  const Difference difference = compare(idle, busy);
  EXPECT_GE(difference.values, kLeastValues);
  EXPECT_EQ(difference.wrong, 0) << difference.text;
  EXPECT_EQ(difference.missing, difference.disturbed) << difference.text;
  EXPECT_GT(difference.disturbed, 0);
  EXPECT_FALSE(busy.warnings.empty());
}

TEST(Neighbour, ThatRestsNowAndThenCostsNothing) {
  sim::NeighbourSpec neighbour = kStreaming;
  neighbour.burst_programs = 200;
  const Topology idle = discover_machine(machine_with("h200", std::nullopt), 1);
  const Difference difference = compare(idle, discover_machine(machine_with("h200", neighbour), 1));
  EXPECT_GE(difference.values, kLeastValues);
  EXPECT_EQ(difference.wrong + difference.missing, 0) << difference.text;
}

TEST(Neighbour, OfAnyKindMakesNoValueWrong) {
  Draw draw(20);
  int values = 0;
  int missing = 0;
  for (int i = 0; i < 6; ++i) {
    const std::string name = draw.pick<std::string>({"a100", "h200", "mi210", "v100", "rtx2080ti"});
    const sim::NeighbourSpec neighbour{.turn_cycles = draw.uniform(1e6, 6e6),
                                       .neighbour_turn_cycles = draw.uniform(3e5, 6e6),
                                       .burst_programs = draw.pick<std::uint32_t>({0, 60, 200, 1000}),
                                       .bandwidth_share = draw.uniform(0.3, 0.95)};
    const Topology idle = discover_machine(machine_with(name, std::nullopt), 7);
    const Difference difference = compare(idle, discover_machine(machine_with(name, neighbour), 7));
    EXPECT_EQ(difference.wrong, 0) << name << "\n" << difference.text;
    EXPECT_EQ(difference.missing, difference.disturbed) << name << "\n" << difference.text;
    values += difference.values;
    missing += difference.missing;
  }
  EXPECT_LE(missing, values / 3) << "most neighbours rest now and then";
}

}  // namespace
}  // namespace gputopo::truth
