// Simulated AMD GPUs: the values in Table III of the MT4G paper, and the empty cells of its Table I.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "device/hip/hip_device.h"
#include "device/sim/machine/machine.h"
#include "device/sim/machine_file.h"
#include "device/sim/sim_device.h"
#include "gputopo/discover.h"
#include "gputopo/report.h"
#include "support/fake_hip.h"

namespace gputopo {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The default budget is for a GPU. The simulator is slower, above all under sanitizers.
constexpr double kBudgetSeconds = 1e5;  // never reached: the result must not depend on host load

class AmdDiscovery : public ::testing::Test {
 protected:
  void discover_machine(const std::string& name, const std::vector<std::string>& elements) {
    spec_ = sim::parse_machine(*sim::builtin_machine(name));
    const auto device = sim::make_sim_device(spec_, 5);
    DiscoverOptions options;
    options.elements = elements;
    options.budget_seconds = kBudgetSeconds;
    options.keep_samples = false;
    found_ = discover(*device, options);
  }
  double number(const char* element, const char* attribute) {
    const Attribute* value = found_.find_attribute(element, attribute);
    EXPECT_TRUE(value != nullptr && value->available()) << element << "." << attribute << ": " << value->detail;
    return value->number().value_or(0);
  }
  double detail(const char* element, const char* attribute, const char* name) {
    return std::get<double>(*found_.find_attribute(element, attribute)->find_detail(name));
  }

  std::size_t number_of_groups(const char* element, const char* attribute) {
    return std::get<UnitGroups>(found_.find_attribute(element, attribute)->value).groups.size();
  }

  sim::MachineSpec spec_;
  Topology found_;
};

TEST_F(AmdDiscovery, Mi210IsTableIII) {
  discover_machine("mi210", {});
  EXPECT_TRUE(found_.complete);
  EXPECT_THAT(found_.warnings, IsEmpty());
  EXPECT_EQ(number("vl1", "size"), 16 << 10);
  EXPECT_NEAR(number("vl1", "latency"), 125, 1);
  EXPECT_EQ(number("vl1", "line_size"), 64);
  EXPECT_EQ(number("vl1", "fetch_granularity"), 64);
  EXPECT_EQ(number("vl1", "amount"), 1);
  EXPECT_EQ(number("sl1d", "size"), 16 << 10);
  EXPECT_NEAR(number("sl1d", "latency"), 50, 1);
  EXPECT_EQ(number("sl1d", "line_size"), 64);
  EXPECT_EQ(number("sl1d", "fetch_granularity"), 64);
  EXPECT_EQ(number("l2", "size"), 8 << 20);
  EXPECT_NEAR(detail("l2", "size", "measured_bytes"), 8 << 20, 128);
  EXPECT_NEAR(number("l2", "latency"), 310, 4);
  EXPECT_EQ(number("l2", "line_size"), 128);
  EXPECT_EQ(number("l2", "fetch_granularity"), 64);
  EXPECT_EQ(number("l2", "amount"), 1);
  EXPECT_EQ(number("lds", "size"), 64 << 10);
  EXPECT_NEAR(number("lds", "latency"), 50, 1);
  EXPECT_EQ(number("lds", "banks"), 32);
  EXPECT_EQ(number("lds", "bank_width"), 4);
  EXPECT_NEAR(number("lds", "conflict_cost"), 1, 0.1);
  EXPECT_NEAR(number("lds", "store_latency"), 54, 1);
  EXPECT_NEAR(number("lds", "atomic_throughput"), 16, 0.5);
  EXPECT_NEAR(number("l2", "atomic_latency"), 310, 4);
  // 16 wavefronts of 64 lanes on 104 CUs in flight, divided by the latency: less than the L2's 512 per cycle.
  EXPECT_NEAR(number("l2", "atomic_throughput"), 104 * 16 * 64 / 310.0, 10);
  EXPECT_NEAR(detail("vl1", "loaded_latency", "unloaded_cycles"), 125, 2);
  EXPECT_NEAR(number("icache_l1", "size"), 32 << 10, 256);
  EXPECT_NEAR(number("icache_l1", "cycles_per_instruction"), 4, 0.1);
  // The first CU has its cache to itself, because its neighbor is disabled.
  EXPECT_EQ(found_.find_attribute("icache_l1", "scope")->value, Value(std::string("2 CUs")));
  EXPECT_NEAR(number("device", "latency"), 748, 8);
  EXPECT_NEAR(number("device", "read_bandwidth"), 1.366e12, 0.05e12);
  EXPECT_EQ(found_.find_attribute("l3", "size")->reason, Reason::kNotPresent);
  EXPECT_EQ(found_.find_memory("texture"), nullptr) << "the table of the other vendor";
}

TEST_F(AmdDiscovery, Mi300xHasAnL3BehindTheL2OfADie) {
  discover_machine("mi300x", {"l2", "l3"});
  EXPECT_EQ(number("l2", "size"), 4 << 20);
  EXPECT_NEAR(detail("l2", "size", "measured_bytes"), 4 << 20, 128);
  EXPECT_EQ(number("l2", "amount"), 8);
  EXPECT_EQ(number("l2", "line_size"), 128);
  EXPECT_NEAR(number("l2", "latency"), 287.5, 4);
  EXPECT_EQ(number("l3", "size"), 256 << 20);
  EXPECT_NEAR(detail("l3", "size", "measured_bytes"), 256 << 20, 0.01 * (256 << 20));
  EXPECT_NEAR(number("l3", "latency"), 458, 6);
  EXPECT_EQ(number("l3", "amount"), 1);
  EXPECT_EQ(found_.find_attribute("l3", "amount")->source, Source::kInferred);
  // L3 lines are 64 B, but the L2 requests 128 B at once.
  EXPECT_EQ(number("l3", "line_size"), 128);
  EXPECT_EQ(number("l3", "fetch_granularity"), 128);
  EXPECT_NEAR(number("l3", "miss_penalty"), 900 - 458, 12);
  EXPECT_NEAR(number("l2", "miss_penalty"), 458 - 287.5, 6);
}

// Half of the registers are accumulation registers, which the vendor's interface does not count.
TEST_F(AmdDiscovery, Mi300xGivesRegistersInEights) {
  discover_machine("mi300x", {"registers.register_allocation_unit", "registers.register_file"});
  EXPECT_EQ(number("registers", "register_allocation_unit"), 8 * 64);
  EXPECT_EQ(number("registers", "register_file"), 512 << 10);
  EXPECT_THAT(found_.find_attribute("registers", "register_file")->flags,
              ::testing::ElementsAre(HasSubstr("differs_from_api")));
}

TEST_F(AmdDiscovery, Mi300xHasBanksAndALargerInstructionCache) {
  discover_machine("mi300x", {"lds", "icache_l1"});
  EXPECT_EQ(number("lds", "banks"), 32);
  EXPECT_EQ(number("lds", "bank_width"), 4);
  EXPECT_NEAR(number("lds", "atomic_throughput"), 16, 0.5);
  EXPECT_NEAR(number("icache_l1", "size"), 64 << 10, 256);
  EXPECT_EQ(found_.find_attribute("icache_l1", "scope")->value, Value(std::string("2 CUs")));
  EXPECT_EQ(found_.find_attribute("icache_l1", "amount")->reason, Reason::kNotApplicable);
}

TEST_F(AmdDiscovery, Mi300xCusShareInstructionCachesWithinTheirDie) {
  discover_machine("mi300x", {"icache_l1.shared_between"});
  EXPECT_EQ(number_of_groups("icache_l1", "shared_between"), spec_.sm_groups.size());
  EXPECT_TRUE(found_.complete);
}

TEST_F(AmdDiscovery, SaysHowTheCusAreLaidOut) {
  discover_machine("mi300x", {"lds"});
  const auto value = [&](const AttributeMap& map, const char* id) { return find(map, id)->number().value_or(-1); };
  EXPECT_EQ(value(found_.compute, "sm_count"), 304);
  EXPECT_EQ(value(found_.compute, "xcd_count"), 8);
  EXPECT_EQ(value(found_.compute, "sms_per_xcd"), 38);
  EXPECT_EQ(value(found_.compute, "sms_physical"), 320);
  EXPECT_EQ(value(found_.compute, "simds_per_sm"), 4);
  EXPECT_EQ(value(found_.compute, "cores_per_sm"), 64);
  EXPECT_EQ(value(found_.compute, "warp_size"), 64);
  EXPECT_EQ(std::get<std::vector<double>>(find(found_.compute, "physical_sm_ids")->value).size(), 304u);
  EXPECT_EQ(find(found_.device, "compute_partition_mode")->value, Value(std::string("SPX")));
  EXPECT_EQ(find(found_.device, "memory_partition_mode")->value, Value(std::string("NPS1")));
  EXPECT_NEAR(value(found_.device, "memory_bandwidth_theoretical"), 5.3e12, 0.05e12);
}

// Tests the results of the HIP kernels, not only of the simulator.
TEST_F(AmdDiscovery, FindsTlbsThroughTheHipDevice) {
  const test::FakeHip fake("tlbs");
  const auto device = open_hip_device(0);
  found_ = discover(*device, {.elements = {"tlb"}, .full = true, .budget_seconds = kBudgetSeconds});
  for (const auto& [level, entries, cycles] : {std::tuple("tlb_l1", 32, 60), {"tlb_l2", 512, 200}}) {
    EXPECT_EQ(number(level, "entry_bytes"), 2 << 20);
    EXPECT_EQ(number(level, "entries"), entries);
    EXPECT_EQ(number(level, "reach"), static_cast<double>(entries) * (2 << 20));
    EXPECT_NEAR(number(level, "miss_penalty"), cycles, 2);
  }
  EXPECT_EQ(found_.find_attribute("tlb_l1", "scope")->value, Value(std::string("CU")));
  EXPECT_EQ(found_.find_attribute("tlb_l2", "scope")->value, Value(std::string("GPU"))) << "its one die";
  // The L2 holds lines of only a few pages, so a TLB with more entries would not show.
  EXPECT_EQ(found_.find_attribute("tlb_l3", "reach")->reason, Reason::kNotSupported);
}

TEST_F(AmdDiscovery, Mi300xSharesCachesThroughTheHipDevice) {
  const test::FakeHip fake({}, "mi300x");
  const auto device = open_hip_device(0);
  const std::size_t groups = sim::parse_machine(*sim::builtin_machine("mi300x")).sm_groups.size();
  found_ = discover(
      *device, {.elements = {"sl1d", "icache_l1.size", "icache_l1.shared_between"}, .budget_seconds = kBudgetSeconds});
  EXPECT_EQ(number("sl1d", "size"), 16 << 10);
  EXPECT_EQ(number_of_groups("sl1d", "shared_between"), groups);
  EXPECT_NEAR(number("icache_l1", "size"), 64 << 10, 256);
  EXPECT_EQ(number_of_groups("icache_l1", "shared_between"), groups);
}

TEST(ElementTable, HasARowSetPerVendor) {
  EXPECT_THAT(coverage_table(), ::testing::AllOf(HasSubstr("AMD "), HasSubstr("NVIDIA ")));
  EXPECT_EQ(elements_of(vendor_of("AMD")).front()->id, ElementId::kVl1);
  EXPECT_EQ(elements_of(vendor_of("NVIDIA")).front()->id, ElementId::kL1);
  EXPECT_EQ(elements_of(vendor_of("a vendor of its own")).front()->id, ElementId::kL1);
}

}  // namespace
}  // namespace gputopo
