// Shared caches are nearer to some SMs than to others (Wong et al. 2010, Figures 11 and 17: least and most over all
// placements).
#include <gtest/gtest.h>

#include "device/sim/machine/machine.h"
#include "device/sim/machine_file.h"
#include "support/trial.h"
#include "support/two_level_machine.h"

namespace gputopo {
namespace {

class PlacementTruth : public ::testing::Test {
 protected:
  std::vector<double> latencies(const sim::MachineSpec& machine, const char* element) {
    DiscoverOptions options;
    options.elements = {std::string(element) + ".sm_latencies"};
    options.full = true;
    found_ = truth::discover_machine(machine, 1, std::move(options)).topology;
    attribute_ = *found_.find_attribute(element, "sm_latencies");
    EXPECT_TRUE(attribute_.available()) << attribute_.detail;
    return attribute_.available() ? std::get<std::vector<double>>(attribute_.value) : std::vector<double>{0, 0};
  }

  Topology found_;
  Attribute attribute_;
};

TEST_F(PlacementTruth, OfL2AreThoseOfTheNearestAndTheFarthestTpc) {
  sim::MachineSpec machine = test::two_level_machine();
  machine.info.sm_count = 12;
  machine.sms_per_tpc = 2;
  machine.tpc_distances_cycles = {3, 20, 0, 7, 11, 5};
  const std::vector<double> found = latencies(machine, "l2");
  EXPECT_NEAR(found[0], test::kL2Cycles, 0.5);
  EXPECT_NEAR(found[1], test::kL2Cycles + 20, 0.5);
  EXPECT_EQ(std::get<std::int64_t>(*attribute_.find_detail("nearest_sm")) / 2, 2);
  EXPECT_EQ(std::get<std::int64_t>(*attribute_.find_detail("farthest_sm")) / 2, 1) << "either SM of the TPC";
}

TEST_F(PlacementTruth, AreOneWhereAllAreAsFar) {
  const std::vector<double> found = latencies(test::two_level_machine(), "l2");
  EXPECT_NEAR(found[1] - found[0], 0, 0.2);
}

TEST_F(PlacementTruth, DoesNotMatterToSharedMemory) {
  sim::MachineSpec machine = test::two_level_machine();
  machine.tpc_distances_cycles = {20};
  constexpr double kCycles = 25;
  machine.spaces[Space::kShared].memory_latency_cycles = kCycles;
  DiscoverOptions options;
  options.elements = {"shared"};
  options.attributes = {"latency"};
  const Topology found = truth::discover_machine(machine, 1, std::move(options)).topology;
  EXPECT_NEAR(found.find_attribute("shared", "latency")->number().value_or(0), kCycles, 0.5);
}

// The second texture level and the third constant level.
TEST_F(PlacementTruth, OfGt200sSharedCachesAreFound) {
  sim::MachineSpec machine = sim::parse_machine(*sim::builtin_machine("gt200"));
  machine.tpc_distances_cycles = {0, 6, 12, 9, 3};
  for (const char* element : {"l2", "constant_l3"}) {
    const std::vector<double> found = latencies(machine, element);
    EXPECT_NEAR(found[1] - found[0], 12, 1) << element;
  }
}

}  // namespace
}  // namespace gputopo
