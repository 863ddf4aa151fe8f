// Bandwidths say what they refer to: an SM per clock, or the whole chip.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "discover/theoretical.h"
#include "gputopo/device.h"
#include "gputopo/discover.h"
#include "gputopo/report.h"
#include "report/drawing/chip.h"
#include "support/saved_report.h"

namespace gputopo {
namespace {

using test::saved_report;
using ::testing::EndsWith;
using ::testing::HasSubstr;

TEST(Rates, OfAUnitAreNotThoseOfTheChip) {
  for (const auto& [name, unit] : {std::pair("h200", "SM"), std::pair("mi300x", "CU"), std::pair("gt200", "SM")}) {
    const Topology topology = saved_report(name);
    const report::Chip chip = report::chip_of(topology);
    int rates = 0;
    for (const report::PhysicalMemory& memory : chip.in_unit) {
      if (memory.rate.empty()) continue;
      ++rates;
      EXPECT_THAT(memory.rate, EndsWith(std::string(" B/clk/") + unit)) << memory.title();
      EXPECT_THAT(memory.notes, ::testing::Contains(HasSubstr(std::string("B/s across all ") + unit + "s")));
    }
    for (const report::PhysicalMemory& memory : chip.on_chip) {
      if (memory.rate.empty()) continue;
      ++rates;
      EXPECT_THAT(memory.rate, HasSubstr("B/s (")) << memory.title();
    }
    EXPECT_GE(rates, 2) << name;
  }
}

TEST(Rates, TheTableHasBytesPerClockBesideTheBandwidth) {
  const std::string text = to_terminal(saved_report("h200"), {.width = 100, .height = 60});
  EXPECT_THAT(text, HasSubstr("33.3 TB/s  127.8"));
  EXPECT_THAT(text, HasSubstr("  /SM "));
  EXPECT_THAT(to_terminal(saved_report("mi300x"), {.width = 100, .height = 60}), HasSubstr("  /CU "));
}

// 4245812473157 B/s at 1979.2 MHz on 132 SMs, for a value that gives no rate per clock itself.
TEST(Rates, FollowFromTheClockAndTheNumberOfSms) {
  EXPECT_EQ(report::chip_of(saved_report("h200")).in_unit.back().rate, "16.25 B/clk/SM");
}

TEST(Rates, WhatIsUnknownIsNotDivided) {
  Topology topology = saved_report("h200");
  get_or_add(topology.compute, AttributeId::kSmCount) = unavailable(Reason::kNotSupported, "");
  const report::Chip chip = report::chip_of(topology);
  EXPECT_EQ(chip.in_unit.back().rate, "4.25 TB/s across all SMs");  // the bandwidth of clusters gives no rate per clock
}

Attribute bandwidth_at(double mhz) {
  Attribute bandwidth;
  bandwidth.value = 1e12;
  bandwidth.unit = "B/s";
  bandwidth.source = Source::kMeasured;
  bandwidth.add_condition("sm_clock_mhz", mhz);
  return bandwidth;
}

// The banks bound a cache that shares their memory; its writes go elsewhere.
TEST(Rates, BanksBoundACacheInTheSameMemory) {
  Topology topology;
  get_or_add(topology.compute, AttributeId::kSmCount) = api_value(std::int64_t{10}, "");
  MemoryElement l1{"l1", "L1", {}};
  Attribute& size = get_or_add(l1.attributes, AttributeId::kSize);
  size = api_value(1024.0, "B");
  size.add_detail("size_by_carve_out_bytes", std::vector<double>{2048, 1024});
  get_or_add(l1.attributes, AttributeId::kReadBandwidth) = bandwidth_at(1000);
  get_or_add(l1.attributes, AttributeId::kWriteBandwidth) = bandwidth_at(1000);
  MemoryElement other{"constant_l1", "Constant L1", {}};
  get_or_add(other.attributes, AttributeId::kReadBandwidth) = bandwidth_at(1000);
  MemoryElement shared{"shared", "Shared memory", {}};
  get_or_add(shared.attributes, AttributeId::kBanks) = api_value(32.0, "");
  get_or_add(shared.attributes, AttributeId::kBankWidth) = api_value(4.0, "B");
  get_or_add(shared.attributes, AttributeId::kWriteBandwidth) = bandwidth_at(500);
  topology.memory = {l1, other, shared};
  add_theoretical_bandwidths(topology);
  const auto peak = [&](std::string_view element, std::string_view attribute) {
    return topology.find_attribute(element, attribute)->find_detail("theoretical_bytes_per_second");
  };
  ASSERT_NE(peak("l1", "read_bandwidth"), nullptr);
  EXPECT_EQ(*peak("l1", "read_bandwidth"), Value(32 * 4 * 10 * 1e9));
  EXPECT_EQ(peak("l1", "write_bandwidth"), nullptr);
  EXPECT_EQ(peak("constant_l1", "read_bandwidth"), nullptr);
  ASSERT_NE(peak("shared", "write_bandwidth"), nullptr);
  EXPECT_EQ(*peak("shared", "write_bandwidth"), Value(32 * 4 * 10 * 5e8));
}

// Either the measured bandwidth is wrong, because caches served part of a short stream, or the theoretical one is.
TEST(Rates, AMeasurementAboveTheTheoreticalBandwidthWithdrawsOneOfThem) {
  const auto settled = [](double measured, std::int64_t footprint_bytes, std::int64_t l2_bytes) {
    Topology topology;
    get_or_add(topology.device, AttributeId::kMemoryBandwidthTheoretical) = api_value(8e11, "B/s");
    MemoryElement l2{"l2", "L2", {}};
    if (l2_bytes > 0) get_or_add(l2.attributes, AttributeId::kSize) = api_value(l2_bytes, "B");
    MemoryElement device{"device", "Device memory", {}};
    Attribute& bandwidth = get_or_add(device.attributes, AttributeId::kReadBandwidth);
    bandwidth = bandwidth_at(1000);
    bandwidth.value = measured;
    bandwidth.add_detail("footprint_bytes", footprint_bytes);
    topology.memory = {l2, device};
    settle_theoretical_bandwidth(topology);
    return std::pair(find(topology.device, AttributeId::kMemoryBandwidthTheoretical)->available(),
                     find(topology.memory[1].attributes, AttributeId::kReadBandwidth)->available());
  };
  EXPECT_EQ(settled(7.9e11, 1 << 30, 4 << 20), std::pair(true, true));
  EXPECT_EQ(settled(1.6e12, 1 << 30, 4 << 20), std::pair(false, true)) << "the driver reports a wrong clock or width";
  EXPECT_EQ(settled(1.6e12, 150 << 20, 50 << 20), std::pair(true, false)) << "caches serve a third of the stream";
  EXPECT_EQ(settled(1.6e12, 1 << 30, 0), std::pair(true, false)) << "the caches are unknown";
}

TEST(Rates, ConstantsSayThatAWarpCountsOnce) {
  const std::unique_ptr<Device> device = open_device("sim:h200", 1);
  DiscoverOptions options;
  options.elements = {"constant_l1.read_bandwidth", "shared.read_bandwidth"};
  const Topology found = discover(*device, options);
  const Value* counted = found.find_attribute("constant_l1", "read_bandwidth")->find_detail("counted");
  ASSERT_NE(counted, nullptr);
  EXPECT_EQ(*counted, Value(std::string("once_per_warp")));
  EXPECT_EQ(found.find_attribute("shared", "read_bandwidth")->find_detail("counted"), nullptr);
}

}  // namespace
}  // namespace gputopo
