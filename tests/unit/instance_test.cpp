// Properties of a GPU instance compared with the whole GPU: on reports made by hand, and on the A100 whose instance the
// MT4G paper shows (Vanecek et al., SC Workshops 2025, Figure 5).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "device/sim/machine/machine.h"
#include "device/sim/machine_file.h"
#include "device/sim/sim_device.h"
#include "gputopo/discover.h"
#include "gputopo/error.h"
#include "gputopo/report.h"
#include "support/message_of.h"

namespace gputopo {
namespace {

using ::testing::HasSubstr;

Attribute measured_value(Value value, const std::string& unit) {
  Attribute attribute;
  attribute.value = std::move(value);
  attribute.unit = unit;
  attribute.source = Source::kMeasured;
  attribute.method = "some_method";
  return attribute;
}

Topology whole_gpu() {
  Topology gpu;
  gpu.generator = "gputopo 0.1.0";
  gpu.vendor = "NVIDIA";
  gpu.architecture = "Ampere";
  gpu.name = "NVIDIA A100";
  gpu.timestamp = "2026-01-01T00:00:00Z";
  get_or_add(gpu.compute, AttributeId::kSmCount) = api_value(std::int64_t{108}, "");
  MemoryElement l1{.id = "l1", .title = "L1 data cache"};
  get_or_add(l1.attributes, AttributeId::kSize) = measured_value(std::int64_t{192 << 10}, "B");
  get_or_add(l1.attributes, AttributeId::kReadBandwidth) = measured_value(10.8e12, "B/s");
  MemoryElement l2{.id = "l2", .title = "L2 cache"};
  get_or_add(l2.attributes, AttributeId::kSize) = api_value(std::int64_t{40 << 20}, "B");
  Attribute& bandwidth = get_or_add(l2.attributes, AttributeId::kReadBandwidth);
  bandwidth = measured_value(4e12, "B/s");
  bandwidth.low = 3.9e12;
  bandwidth.high = 4.2e12;
  get_or_add(l2.attributes, AttributeId::kLatency) = measured_value(200.0, "cycles");
  Attribute& partitions = get_or_add(l2.attributes, AttributeId::kPartitions);
  partitions = measured_value(std::int64_t{2}, "");
  partitions.add_detail("near_bytes", double{20 << 20});
  get_or_add(l2.attributes, AttributeId::kSlices) = measured_value(std::int64_t{80}, "");
  get_or_add(l2.attributes, AttributeId::kNearSms) = measured_value(UnitGroups{{{0, 1}, {2, 3}}}, "");
  gpu.memory = {l1, l2};
  return gpu;
}

// Four of seven compute slices and the given number of eight memory slices. Nothing was measured in it.
Topology instance_with(std::int64_t memory_slices) {
  Topology instance;
  instance.generator = "gputopo 0.1.0";
  instance.vendor = "NVIDIA";
  instance.architecture = "Ampere";
  instance.name = "NVIDIA A100 MIG 4g.20gb";
  get_or_add(instance.device, AttributeId::kInstanceProfile) = api_value(std::string("4g.20gb"), "");
  Attribute& slices = get_or_add(instance.device, AttributeId::kInstanceMemorySlices);
  slices = api_value(memory_slices, "");
  slices.add_detail("of_gpu", std::int64_t{8});
  get_or_add(instance.compute, AttributeId::kSmCount) = api_value(std::int64_t{54}, "");
  return instance;
}

TEST(InstanceOf, WhatEachSmHasIsThatOfTheGpu) {
  const Topology view = instance_of(whole_gpu(), instance_with(4));
  EXPECT_EQ(view.name, "NVIDIA A100 MIG 4g.20gb");
  const Attribute* size = view.find_attribute("l1", "size");
  EXPECT_EQ(size->number(), 192 << 10);
  EXPECT_EQ(size->source, Source::kMeasured);
  EXPECT_EQ(size->conditions.back(), std::pair(std::string("measured_on"), Value(std::string("whole GPU"))));
  EXPECT_EQ(view.find_attribute("l2", "latency")->number(), 200);
}

TEST(InstanceOf, WhatTheyHaveTogetherIsSharedOut) {
  const Topology view = instance_of(whole_gpu(), instance_with(2));
  EXPECT_EQ(view.find_attribute("l1", "read_bandwidth")->number(), 5.4e12);
  const Attribute* bandwidth = view.find_attribute("l2", "read_bandwidth");
  EXPECT_EQ(bandwidth->number(), 1e12);
  EXPECT_EQ(bandwidth->low, 3.9e12 / 4);
  EXPECT_EQ(bandwidth->high, 4.2e12 / 4);
  EXPECT_EQ(bandwidth->source, Source::kInferred);
  EXPECT_EQ(*bandwidth->find_detail("of_gpu"), Value(4e12));
  EXPECT_EQ(view.find_attribute("l2", "slices")->number(), 20);
  EXPECT_EQ(view.find_attribute("l2", "partitions")->number(), 1);  // half a partition counts as one
  EXPECT_EQ(view.find_attribute("l2", "size")->number(), 10 << 20);
  EXPECT_EQ(*view.find_attribute("l2", "partitions")->find_detail("near_bytes"), Value(double{10 << 20}));
}

TEST(InstanceOf, WhatNamesSmsIsLeftOut) {
  const Topology view = instance_of(whole_gpu(), instance_with(4));
  EXPECT_EQ(view.find_attribute("l2", "near_sms")->reason, Reason::kNotSupported);
}

TEST(InstanceOf, WhatWasMeasuredInItStands) {
  Topology instance = instance_with(4);
  MemoryElement l2{.id = "l2", .title = "L2 cache"};
  get_or_add(l2.attributes, AttributeId::kReadBandwidth) = measured_value(1.9e12, "B/s");
  instance.memory = {l2};
  const Topology view = instance_of(whole_gpu(), instance);
  EXPECT_EQ(view.find_attribute("l2", "read_bandwidth")->number(), 1.9e12);
  EXPECT_EQ(view.find_attribute("l2", "read_bandwidth")->source, Source::kMeasured);
  EXPECT_EQ(view.find_attribute("l2", "size")->source, Source::kInferred);
}

TEST(InstanceOf, AShareThatIsNotToldIsNoShare) {
  Topology instance = instance_with(4);
  std::erase_if(instance.device, [](const auto& entry) { return entry.first == "instance_memory_slices"; });
  EXPECT_EQ(instance_of(whole_gpu(), instance).find_attribute("l2", "size")->reason, Reason::kNotSupported);
}

TEST(InstanceOf, RefusesWhatIsNoPair) {
  const auto message = [](const Topology& full, const Topology& instance) {
    return test::message_of<UsageError>("pair", [&] { static_cast<void>(instance_of(full, instance)); });
  };
  EXPECT_THAT(message(whole_gpu(), whole_gpu()), HasSubstr("does not describe an instance"));
  EXPECT_THAT(message(instance_with(4), instance_with(4)), HasSubstr("the report to show describes an instance"));
  Topology other = instance_with(4);
  other.architecture = "Hopper";
  EXPECT_THAT(message(whole_gpu(), other), HasSubstr("different kinds of GPU: NVIDIA A100 and"));
  Topology larger = instance_with(4);
  get_or_add(larger.compute, AttributeId::kSmCount) = api_value(std::int64_t{132}, "");
  EXPECT_THAT(message(whole_gpu(), larger), HasSubstr("more SMs"));
}

// A view is a report: it can be saved and shown.
TEST(InstanceOf, IsAReportLikeAnyOther) {
  const Topology view = instance_of(whole_gpu(), instance_with(4));
  EXPECT_EQ(to_json(read_json(to_json(view))), to_json(view));
  EXPECT_THAT(to_terminal(view, {}), HasSubstr("4g.20gb"));
}

// ---- The A100 of the figure ----

// 4 of 7 compute slices, and half of L2 and memory, which is one of the two partitions.
sim::MachineSpec a100_4g_20gb() {
  sim::MachineSpec machine = sim::parse_machine(*sim::builtin_machine("a100"));
  machine.info.name += " MIG 4g.20gb";
  machine.info.mig_enabled = true;
  machine.info.instance = {.profile = "4g.20gb",
                           .compute_slices = 4,
                           .compute_slices_of_gpu = 7,
                           .memory_slices = 4,
                           .memory_slices_of_gpu = 8};
  machine.info.sm_count = 56;
  *machine.info.memory_bytes /= 2;
  *machine.info.l2_bytes /= 2;
  for (sim::CacheSpec& cache : machine.caches) {
    if (cache.id != "l2") continue;
    cache.size_bytes /= 2;
    cache.partitions = 1;
  }
  for (auto& [space, loads] : machine.spaces) {
    for (auto& stop : loads.path) stop.far_latency_cycles = 0;
  }
  return machine;
}

Topology discovered(const sim::MachineSpec& machine, const std::vector<std::string>& elements) {
  DiscoverOptions options;
  options.elements = elements;
  return discover(*sim::make_sim_device(machine, 1), options);
}

double number_of(const Value* detail) { return Attribute{.value = *detail}.number().value(); }
double near_bytes(const Topology& topology) {
  return number_of(topology.find_attribute("l2", "partitions")->find_detail("near_bytes"));
}
double bytes_measured(const Topology& topology) {
  return number_of(topology.find_attribute("l2", "size")->find_detail("measured_bytes"));
}

// NVML may not answer in a container. The name and the sizes still tell the profile and the share of memory.
TEST(InstanceOf, AnInstanceThatOnlyItsNameShows) {
  sim::MachineSpec machine = a100_4g_20gb();
  machine.info.mig_enabled.reset();
  machine.info.instance = {};
  const std::vector<std::string> elements = {"device"};
  const Topology instance = discovered(machine, elements);
  const Attribute* profile = find(instance.device, AttributeId::kInstanceProfile);
  ASSERT_NE(profile, nullptr);
  EXPECT_EQ(profile->value, Value(std::string("4g.20gb")));
  EXPECT_EQ(profile->source, Source::kInferred);
  Topology full = discovered(sim::parse_machine(*sim::builtin_machine("a100")), {"device"});
  EXPECT_EQ(find(full.device, AttributeId::kInstanceProfile), nullptr);
  *std::ranges::find(full.memory, "l2", &MemoryElement::id) = *whole_gpu().find_memory("l2");
  const Topology view = instance_of(full, instance);
  EXPECT_EQ(view.find_attribute("l2", "slices")->number(), 40) << "half of the memory";
}

TEST(InstanceOfA100, OneSmUsesAsMuchOfL2AsOfTheWholeGpu) {
  const Topology full = discovered(sim::parse_machine(*sim::builtin_machine("a100")), {"l2.size", "l2.partitions"});
  const Topology instance = discovered(a100_4g_20gb(), {"l2.size", "l2.partitions"});
  // The throughput of an SM drops at 20 MB on the whole GPU as well as in the instance.
  constexpr double kFigure = 20 << 20;
  EXPECT_NEAR(near_bytes(full), kFigure, 0.02 * kFigure);
  EXPECT_EQ(full.find_attribute("l2", "size")->number(), 40 << 20);
  EXPECT_EQ(full.find_attribute("l2", "partitions")->number(), 2);
  EXPECT_NEAR(bytes_measured(instance), kFigure, 0.02 * kFigure);
  EXPECT_EQ(instance.find_attribute("l2", "size")->number(), 20 << 20);
  EXPECT_EQ(instance.find_attribute("l2", "partitions")->number(), 1);
  // The same values follow from the whole GPU's report and the slices of the instance.
  const Topology view = instance_of(full, discovered(a100_4g_20gb(), {"registers.schedulers"}));
  EXPECT_EQ(view.find_attribute("l2", "size")->number(), 20 << 20);
  EXPECT_EQ(view.find_attribute("l2", "partitions")->number(), 1);
  EXPECT_NEAR(near_bytes(view), kFigure, 0.02 * kFigure);
}

}  // namespace
}  // namespace gputopo
