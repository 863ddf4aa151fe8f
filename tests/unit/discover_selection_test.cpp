// Which attributes a discovery measures, and the reasons that it gives for the others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/sim/machine_file.h"
#include "device/sim/sim_device.h"
#include "gputopo/discover.h"
#include "gputopo/error.h"
#include "support/message_of.h"

namespace gputopo {
namespace {

using ::testing::HasSubstr;

Topology discover_as(const DiscoverOptions& options) {
  const auto device = sim::make_sim_device(sim::parse_machine(*sim::builtin_machine("gt200")), 1);
  return discover(*device, options);
}

Topology discover_only(const std::vector<std::string>& elements) { return discover_as({.elements = elements}); }

TEST(DiscoverSelection, ASingleAttributeOfAnElement) {
  const Topology topology = discover_only({"constant_l1.ways", "shared"});
  EXPECT_EQ(topology.find_attribute("constant_l1", "ways")->number(), 4);  // without --full
  EXPECT_EQ(topology.find_attribute("constant_l1", "sets")->reason, Reason::kNotSelected);
  EXPECT_EQ(topology.find_attribute("constant_l1", "size")->reason, Reason::kNotSelected);  // although it was needed
  EXPECT_TRUE(topology.find_attribute("shared", "size")->available());
  EXPECT_EQ(topology.find_attribute("texture", "size")->reason, Reason::kNotSelected);
}

// With the names of CSV, JSON and diff.
TEST(DiscoverSelection, NamesOfOutputsAreTaken) {
  const Topology topology = discover_only({"memory.shared", "memory.constant_l1.size"});
  EXPECT_TRUE(topology.find_attribute("shared", "size")->available());
  EXPECT_TRUE(topology.find_attribute("constant_l1", "size")->available());
  EXPECT_EQ(topology.find_attribute("constant_l1", "latency")->reason, Reason::kNotSelected);
}

TEST(DiscoverSelection, WithoutAnL2NothingIsMeasuredOfIt) {
  EXPECT_EQ(discover_only({"l2.loaded_latency"}).find_attribute("l2", "loaded_latency")->reason, Reason::kNotPresent);
}

// A report has no row for a value that nobody requested.
TEST(DiscoverSelection, WhatAnotherMethodFindsStandsBesideOurs) {
  const Topology plain = discover_only({"constant_l1.size", "shared"});
  EXPECT_EQ(plain.find_attribute("constant_l1", "change_point_size"), nullptr);
  EXPECT_EQ(plain.find_attribute("shared", "change_point_size"), nullptr);

  const Topology asked = discover_as({.elements = {"constant_l1.size", "shared"}, .methods = {"change-point"}});
  ASSERT_NE(asked.find_attribute("constant_l1", "change_point_size"), nullptr);
  EXPECT_TRUE(asked.find_attribute("constant_l1", "change_point_size")->available());
  EXPECT_EQ(asked.find_attribute("constant_l1", "size")->value, plain.find_attribute("constant_l1", "size")->value);
  EXPECT_EQ(asked.find_attribute("shared", "change_point_size"), nullptr);
  EXPECT_EQ(asked.find_attribute("texture", "change_point_size"), nullptr);

  const Topology named = discover_only({"constant_l1.change_point_size"});
  EXPECT_TRUE(named.find_attribute("constant_l1", "change_point_size")->available());
  const Topology latency =
      discover_as({.elements = {"constant_l1"}, .attributes = {"latency"}, .methods = {"change-point"}});
  EXPECT_EQ(latency.find_attribute("constant_l1", "change_point_size"), nullptr) << "beside sizes only";
}

// These take two seconds each, must be requested by name, and have no row otherwise.
TEST(DiscoverSelection, WhatIsMeasuredByNameIsNotPartOfFull) {
  DiscoverOptions options{.elements = {"peaks"}, .attributes = {"f32"}};
  options.full = true;
  EXPECT_EQ(discover_as(options).find_attribute("peaks", "sustained_f32"), nullptr);
  const auto h200 = sim::make_sim_device(sim::parse_machine(*sim::builtin_machine("h200")), 1);
  const Topology named = discover(*h200, {.elements = {"peaks.sustained_s32"}});
  ASSERT_NE(named.find_attribute("peaks", "sustained_s32"), nullptr);
  EXPECT_EQ(named.find_attribute("peaks", "sustained_s32")->unit, "OP/s");
  EXPECT_EQ(named.find_attribute("peaks", "sustained_f32"), nullptr);
}

TEST(DiscoverSelection, UnknownOnesAreNamed) {
  EXPECT_THAT(test::message_of<UsageError>("", [] { discover_only({"L1"}); }), HasSubstr("did you mean l1?"));
  EXPECT_THAT(test::message_of<UsageError>("", [] { discover_only({"memory.devise"}); }),
              HasSubstr("did you mean device?"));

  EXPECT_THAT(test::message_of<UsageError>("", [] { discover_only({"l7.size"}); }), HasSubstr("unknown element 'l7'"));
  EXPECT_THAT(test::message_of<UsageError>("", [] { discover_only({"l2.weight"}); }),
              HasSubstr("unknown attribute 'weight'"));
  EXPECT_THAT(test::message_of<UsageError>("", [] { discover_as({.methods = {"changepoint"}}); }),
              HasSubstr("unknown method 'changepoint'; did you mean change-point? the methods are change-point"));
}

}  // namespace
}  // namespace gputopo
