// Discovery under a requested carve-out of shared memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "device/sim/machine_file.h"
#include "device/sim/sim_device.h"
#include "gputopo/discover.h"
#include "gputopo/error.h"
#include "gputopo/program.h"

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
  constexpr double kBoth = 253'952;  // L1 and shared memory of the machine together
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
    // The sizes under all carve-outs do not depend on the requested one, whose entry is the measured size.
    const auto sizes = std::get<std::vector<double>>(*size.find_detail("size_by_carve_out_bytes"));
    const auto carve_outs = std::get<std::vector<double>>(*size.find_detail("carve_outs_bytes"));
    const auto own = std::ranges::find(carve_outs, static_cast<double>(carve_out));
    ASSERT_NE(own, carve_outs.end());
    EXPECT_EQ(sizes[static_cast<std::size_t>(own - carve_outs.begin())], *size.number());
    EXPECT_GT(sizes.front(), 0.95 * (kBoth - (8 << 10)));
  }
}

// Silently uses a different carve-out than the requested one.
class OtherCarveOut : public Device {
 public:
  OtherCarveOut(std::unique_ptr<Device> device, std::uint64_t asked_bytes, std::uint64_t given_bytes)
      : device_(std::move(device)), asked_bytes_(asked_bytes), given_bytes_(given_bytes) {}

  [[nodiscard]] const DeviceInfo& info() const override { return device_->info(); }
  [[nodiscard]] std::vector<ProgramResult> run(std::span<const Program> programs) override {
    std::vector<Program> given(programs.begin(), programs.end());
    for (Program& program : given) {
      if (is_asked(program)) std::get<ChaseProgram>(program).shared_carve_out_bytes = given_bytes_;
    }
    std::vector<ProgramResult> results = device_->run(given);
    for (std::size_t i = 0; i < programs.size(); ++i) {
      if (is_asked(programs[i])) results[i].shared_carve_out_bytes = asked_bytes_;
    }
    return results;
  }

 private:
  [[nodiscard]] bool is_asked(const Program& program) const {
    const auto* chase = std::get_if<ChaseProgram>(&program);
    return chase != nullptr && chase->shared_carve_out_bytes == asked_bytes_;
  }

  std::unique_ptr<Device> device_;
  std::uint64_t asked_bytes_;
  std::uint64_t given_bytes_;
};

// Sizes between both ends are interpolated on a straight line only if a measured size confirms the line.
TEST(CarveOutTruth, WhatLiesOnNoLineIsMeasured) {
  constexpr std::uint64_t kAsked = 100 << 10;
  constexpr std::uint64_t kGiven = 132 << 10;
  OtherCarveOut device(sim::make_sim_device(sim::parse_machine(*sim::builtin_machine("h200")), 1, 1), kAsked, kGiven);
  DiscoverOptions options;
  options.elements = {"l1"};
  options.attributes = {"size"};
  const Topology topology = discover(device, options);
  const Attribute& size = *topology.find_attribute("l1", "size");
  ASSERT_TRUE(size.available()) << size.detail;
  const auto list = [&](const char* name) { return std::get<std::vector<double>>(*size.find_detail(name)); };
  const std::vector<double> carve_outs = list("carve_outs_bytes");
  const std::vector<double> sizes = list("size_by_carve_out_bytes");
  ASSERT_EQ(carve_outs.size(), 9u);
  for (std::size_t i = 0; i < carve_outs.size(); ++i) {
    const double left = 253'952 - (carve_outs[i] == kAsked ? kGiven : carve_outs[i]);
    EXPECT_NEAR(sizes[i], left, 0.02 * left + 128) << carve_outs[i];
  }
  const std::vector<double> interpolated = list("interpolated_carve_outs_bytes");
  EXPECT_EQ(std::ranges::count(interpolated, kAsked), 0);
  EXPECT_GT(interpolated.size(), 3u);
}

TEST(CarveOutTruth, WhatNoGpuHasIsRefused) {
  EXPECT_THROW(static_cast<void>(discover_under(1 << 20)), UsageError);
  EXPECT_THROW(static_cast<void>(discover_under(8 << 10, "gt200")), UsageError);
}

}  // namespace
}  // namespace gputopo
