// The change-point method on simulated machines: right where a cache ends in a step, and less often right than this
// project's method on random ones. GPUTOPO_CHANGE_POINT_MACHINES sets the number of random machines (default 3),
// GPUTOPO_TRUTH_SEED the first seed. If GPUTOPO_ACCURACY_REPORT names a file, the test writes the comparison into it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "device/sim/sim_device.h"
#include "gputopo/discover.h"
#include "gputopo/file.h"
#include "support/method_comparison.h"
#include "support/seeds.h"
#include "support/two_level_machine.h"

namespace gputopo::truth {
namespace {

// A quiet machine whose caches have one set under LRU: one line more than fits makes all loads miss.
sim::MachineSpec machine_of_steps(std::uint64_t l1_bytes) {
  sim::MachineSpec machine = test::two_level_machine();
  machine.caches[0].ways = 0;
  machine.caches[0].size_bytes = l1_bytes;
  return machine;
}

Topology by_change_point(const sim::MachineSpec& machine, const std::string& element) {
  DiscoverOptions options;
  options.elements = {element};
  options.attributes = {"size"};
  options.methods = {"change-point"};
  return discover(*sim::make_sim_device(machine, 1, 1), options);
}

TEST(ChangePointTruth, AStepIsFoundToTheStepOfTheSizes) {
  for (const std::uint64_t bytes : {3072ull, 16384ull, 25600ull, 40064ull, 122880ull}) {
    SCOPED_TRACE(bytes);
    const Topology topology = by_change_point(machine_of_steps(bytes), "l1");
    const Attribute& found = *topology.find_attribute("l1", "change_point_size");
    ASSERT_TRUE(found.available()) << found.detail;
    EXPECT_EQ(found.method, "change_point");
    EXPECT_LE(*found.low, static_cast<double>(bytes));
    EXPECT_GE(*found.high, static_cast<double>(bytes));
    EXPECT_LE(*found.high - *found.low, 128);
    EXPECT_GT(std::get<double>(*found.find_detail("confidence")), 0.999);
    ASSERT_EQ(found.samples.size(), 1u);
    EXPECT_EQ(found.samples.front().name, "l1.change_point_size.change_point");
    EXPECT_EQ(topology.find_attribute("l1", "size")->number(), static_cast<double>(bytes)) << "ours stands beside it";
  }
}

TEST(ChangePointTruth, ARampOfManySetsComesOutTooLarge) {
  sim::MachineSpec machine = test::two_level_machine();
  machine.caches[0].size_bytes = 256 << 10;
  const Topology topology = by_change_point(machine, "l1");
  const Attribute& found = *topology.find_attribute("l1", "change_point_size");
  ASSERT_TRUE(found.available()) << found.detail;
  EXPECT_GT(*found.low, 256 << 10);
  EXPECT_LT(*found.number(), 1.05 * (256 << 10));
  EXPECT_EQ(topology.find_attribute("l1", "size")->number(), 256 << 10);
}

TEST(ChangePointTruth, ASegmentOfL2IsAFractionOfWhatTheDriverTells) {
  sim::MachineSpec machine = machine_of_steps(test::kL1Bytes);
  machine.caches[1].ways = 0;
  machine.info.l2_bytes = 2 * test::kL2Bytes;
  const Topology topology = by_change_point(machine, "l2");
  const Attribute& found = *topology.find_attribute("l2", "change_point_size");
  ASSERT_TRUE(found.available()) << found.detail;
  EXPECT_EQ(found.number(), static_cast<double>(test::kL2Bytes));
  EXPECT_EQ(*found.find_detail("segments"), Value(std::int64_t{2}));
}

TEST(ChangePointTruth, WithoutAnEndThereIsNoSize) {
  sim::MachineSpec machine = machine_of_steps(4 << 20);
  machine.caches[1].size_bytes = 16 << 20;
  const Topology topology = by_change_point(machine, "l1");
  const Attribute& found = *topology.find_attribute("l1", "change_point_size");
  EXPECT_EQ(found.reason, Reason::kInconclusive) << found.method;
}

TEST(ChangePointTruth, IsSeldomerRightOnRandomMachines) {
  constexpr std::uint64_t kMachines = 3;
  const std::uint64_t machines = number_from_environment("GPUTOPO_CHANGE_POINT_MACHINES", kMachines);
  MethodComparison comparison = compare_methods(first_seed(), machines);
  const char* path = std::getenv("GPUTOPO_ACCURACY_REPORT");
  if (path != nullptr) comparison.real = compare_on_models();
  const std::string section = section_of(comparison);
  if (path != nullptr) {
    std::string report = std::filesystem::exists(path) ? read_file(path) : "";
    if (const std::string before = comparison_section(report); !before.empty()) {
      report.replace(report.find(before), before.size(), section);
    } else {
      report += "\n" + section;
    }
    write_file(path, report);
  }
  SCOPED_TRACE(section);
  EXPECT_GT(comparison.all.sizes(), machines);
  EXPECT_GE(comparison.all.ours.right, comparison.all.theirs.right);
  EXPECT_GT(comparison.all.theirs.right, 0u);
}

}  // namespace
}  // namespace gputopo::truth
