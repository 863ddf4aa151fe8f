// Bandwidth of one SM from levels that all SMs share, and its curve over footprints.
#include <gtest/gtest.h>

#include <algorithm>

#include "device/sim/machine/machine.h"
#include "device/sim/machine_file.h"
#include "device/sim/sim_device.h"
#include "gputopo/discover.h"

namespace gputopo {
namespace {

class OneSmTruth : public ::testing::Test {
 protected:
  static Topology discover(const sim::MachineSpec& machine) {
    DiscoverOptions options;
    options.elements = {"l2", "device"};
    options.attributes = {"sm_read_bandwidth"};
    options.full = true;
    return gputopo::discover(*sim::make_sim_device(machine, 1, 1), options);
  }
  static sim::MachineSpec h200() {
    sim::MachineSpec machine = sim::parse_machine(*sim::builtin_machine("h200"));
    machine.noise = {};
    return machine;
  }
};

TEST_F(OneSmTruth, IsWhatItsPortTakes) {
  sim::MachineSpec machine = h200();
  for (const double port : {60e9, 120e9, 240e9}) {
    machine.sm_bytes_per_second = port;
    const Topology topology = discover(machine);
    for (const char* element : {"l2", "device"}) {
      const Attribute& found = *topology.find_attribute(element, "sm_read_bandwidth");
      ASSERT_TRUE(found.available()) << found.detail;
      EXPECT_NEAR(*found.number(), port, 0.02 * port) << element;
    }
  }
}

TEST_F(OneSmTruth, WhereAnSmHasLessUnderWayThanTheWayTakesThatIsTheLimit) {
  sim::MachineSpec machine = h200();
  machine.sm_bytes_per_second = 240e9;
  machine.bandwidths.at("memory").half_bytes_in_flight *= 100;
  const Topology topology = discover(machine);
  EXPECT_LT(*topology.find_attribute("device", "sm_read_bandwidth")->number(), 0.5 * 240e9);
  EXPECT_NEAR(*topology.find_attribute("l2", "sm_read_bandwidth")->number(), 240e9, 0.02 * 240e9);
}

// The curve of one SM begins in its L1; the curve of all SMs begins where each SM has work.
TEST_F(OneSmTruth, TheCurveShowsEachLevel) {
  sim::MachineSpec machine = h200();
  machine.sm_bytes_per_second = 100e9;
  const Topology topology = discover(machine);
  const std::vector<SampleTable>& samples = topology.find_attribute("device", "sm_read_bandwidth")->samples;
  const auto curve_of = [&](const char* name) {
    const auto found =
        std::ranges::find_if(samples, [&](const SampleTable& table) { return table.name.ends_with(name); });
    if (found == samples.end()) throw std::logic_error(name);
    return *found;
  };
  const auto rate_in = [](const SampleTable& curve, double bytes, double sms) {
    double rate = 0;
    for (std::size_t i = 0; i < curve.data[0].size(); ++i) {
      if (curve.data[0][i] <= bytes && curve.data[1][i] == sms) rate = curve.data[2][i];
    }
    return rate;
  };
  const SampleTable warm = curve_of("by_footprint");
  const auto rate_at = [&](double bytes, double sms) { return rate_in(warm, bytes, sms); };
  const double sms = machine.info.sm_count;
  EXPECT_GT(rate_at(128 << 10, 1), 150e9) << "L1";
  EXPECT_NEAR(rate_at(16 << 20, 1), 100e9, 2e9) << "L2";
  EXPECT_GT(rate_at(32 << 20, sms), 1.5 * rate_at(256 << 20, sms)) << "L2 and memory";
  const SampleTable cold = curve_of("by_cold_footprint");
  EXPECT_LE(rate_in(cold, 128 << 10, 1), 102e9) << "no L1 holds what is new";
  EXPECT_NEAR(rate_in(cold, 32 << 20, sms), rate_at(256 << 20, sms), 0.02 * rate_at(256 << 20, sms)) << "nor L2";
}

}  // namespace
}  // namespace gputopo
