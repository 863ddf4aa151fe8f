// A discovery under a carve-out of shared memory that was asked for.
#include <gtest/gtest.h>

#include <algorithm>

#include "device/sim/machine.h"
#include "gputopo/discover.h"
#include "gputopo/error.h"

namespace gputopo {
namespace {

Topology discover_under(std::uint64_t carve_out_bytes, const char* machine = "h200") {
  DiscoverOptions options;
  options.elements = {"l1"};
  options.attributes = {"size", "latency", "read_bandwidth"};
  options.carve_out_bytes = carve_out_bytes;
  return discover(*sim::make_sim_device(sim::parse_machine(*sim::builtin_machine(machine)), 1, 1), options);
}

TEST(CarveOutTruth, L1IsWhatIsLeft) {
  constexpr double kBoth = 253'952;  // of the machine: L1 and shared memory together
  for (const std::uint64_t carve_out : {std::uint64_t{64} << 10, std::uint64_t{164} << 10}) {
    const Topology topology = discover_under(carve_out);
    const double left = kBoth - static_cast<double>(carve_out);
    const Attribute& size = *topology.find_attribute("l1", "size");
    ASSERT_TRUE(size.available()) << size.detail;
    EXPECT_NEAR(*size.number(), left, 0.02 * left);
    for (const char* attribute : {"size", "latency", "read_bandwidth"}) {
      const NamedValues& conditions = topology.find_attribute("l1", attribute)->conditions;
      const auto in_force = std::ranges::find(conditions, "carve_out_bytes", &NamedValues::value_type::first);
      ASSERT_NE(in_force, conditions.end()) << attribute;
      EXPECT_EQ(in_force->second, Value(static_cast<std::int64_t>(carve_out))) << attribute;
    }
    // The sizes under all carve-outs are those that they are anyway.
    const auto sizes = std::get<std::vector<double>>(*size.find_detail("size_by_carve_out_bytes"));
    EXPECT_GT(sizes.front(), 0.95 * (kBoth - (8 << 10)));
  }
}

TEST(CarveOutTruth, WhatNoGpuHasIsRefused) {
  EXPECT_THROW(static_cast<void>(discover_under(1 << 20)), UsageError);
  EXPECT_THROW(static_cast<void>(discover_under(8 << 10, "gt200")), UsageError);
}

}  // namespace
}  // namespace gputopo
