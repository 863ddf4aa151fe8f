// Advice of a report: numbers derived from its values, each with the paths of these values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "gputopo/report.h"
#include "report/words/advice.h"
#include "report/words/value_text.h"
#include "support/saved_report.h"

namespace gputopo {
namespace {

using test::saved_report;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

report::Advice advice(const Topology& topology, const std::string& topic) {
  const std::vector<report::Advice> all = report::advice_of(topology);
  const auto found = std::ranges::find(all, topic, &report::Advice::topic);
  return found == all.end() ? report::Advice{} : *found;
}

Attribute& value(Topology& topology, const std::string& element, const std::string& attribute) {
  const auto found = std::ranges::find(topology.memory, element, &MemoryElement::id);
  return get_or_add(found->attributes, attribute);
}

TEST(Advice, LittlesLawIsBandwidthTimesLatency) {
  Topology topology = saved_report("h200");
  Attribute& bandwidth = value(topology, "device", "read_bandwidth");
  bandwidth.details = {{"bytes_per_clock_per_sm", 16.0}};
  value(topology, "device", "latency").value = 640.0;
  value(topology, "device", "loaded_latency").details = {{"knee_bytes_in_flight", 12288.0}};
  const report::Advice memory = advice(topology, "Memory");
  EXPECT_THAT(memory.text, AllOf(HasSubstr("10 KiB in flight in each SM"),
                                 HasSubstr("5 B per thread with 2048 threads"), HasSubstr("starts to rise at 12 KiB")));
  EXPECT_EQ(report::grounds_text(memory),
            "memory.device.read_bandwidth, memory.device.latency, compute.max_threads_per_sm, "
            "memory.device.loaded_latency");
}

TEST(Advice, TilesLeaveRoomForWhatIsReserved) {
  EXPECT_THAT(advice(saved_report("h200"), "Tiles in shared memory").text,
              HasSubstr("227 KiB for 1, 113 KiB for 2, 75 KiB for 3, 56 KiB for 4"));
  // Each die of an MI300X has an L2 of 4 MiB for its 38 CUs.
  EXPECT_THAT(advice(saved_report("mi300x"), "Tiles in L2").text, HasSubstr("each CU: 107.8 KiB for 1,"));
}

TEST(Advice, EachLineFollowsFromValuesThatTheReportHas) {
  for (const char* name : {"h200", "mi300x", "gt200"}) {
    const Topology topology = saved_report(name);
    const std::vector<report::Advice> all = report::advice_of(topology);
    EXPECT_GE(all.size(), 5U) << name;
    for (const report::Advice& one : all) {
      EXPECT_FALSE(one.grounds.empty()) << one.topic;
      for (const auto& [group, attribute] : one.grounds) {
        const AttributeMap& attributes =
            group == "compute" ? topology.compute : topology.find_memory(group)->attributes;
        const auto found = std::ranges::find(attributes, attribute, &AttributeMap::value_type::first);
        ASSERT_NE(found, attributes.end()) << group << attribute;
        EXPECT_TRUE(found->second.available()) << group << attribute;
      }
    }
  }
}

TEST(Advice, WhatIsUnknownHasNoLine) {
  Topology topology = saved_report("h200");
  value(topology, "shared", "conflict_cost") = unavailable(Reason::kDisturbed, "");
  EXPECT_TRUE(advice(topology, "Banks").text.empty());
  topology.memory.clear();
  topology.compute.clear();
  EXPECT_THAT(report::advice_of(topology), IsEmpty());
  EXPECT_THAT(to_html(topology), Not(HasSubstr("Tuning advice")));
}

TEST(Advice, IsInEveryFormatThatIsReadButNotInASmallTerminal) {
  const Topology topology = saved_report("h200");
  for (const std::string& text : {to_html(topology), to_markdown(topology), to_terminal(topology, {})}) {
    EXPECT_THAT(text, HasSubstr("Tuning advice"));
    EXPECT_THAT(text, HasSubstr("pad such"));
  }
  EXPECT_THAT(to_terminal(topology, {80, false, false, 24}), Not(HasSubstr("Tuning advice")));
}

TEST(Advice, PathsAreThoseOfTheJson) {
  EXPECT_EQ(report::json_path("gpu", "sm_clock"), "device.sm_clock");
  EXPECT_EQ(report::json_path("device", "size"), "memory.device.size");
  EXPECT_EQ(report::json_path("compute", "sm_count"), "compute.sm_count");
  EXPECT_EQ(report::json_path("instructions.fma.f32", "latency"), "compute.instructions[\"fma.f32\"].latency");
}

}  // namespace
}  // namespace gputopo
