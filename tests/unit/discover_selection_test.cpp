// Which attributes a discovery measures, and what it says of the others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/sim/machine.h"
#include "gputopo/discover.h"
#include "gputopo/error.h"
#include "support/message_of.h"

namespace gputopo {
namespace {

using ::testing::HasSubstr;

Topology discover_only(const std::vector<std::string>& elements) {
  const auto device = sim::make_sim_device(sim::parse_machine(*sim::builtin_machine("gt200")), 1);
  DiscoverOptions options;
  options.elements = elements;
  return discover(*device, options);
}

TEST(DiscoverSelection, ASingleAttributeOfAnElement) {
  const Topology topology = discover_only({"constant_l1.ways", "shared"});
  EXPECT_EQ(topology.find_attribute("constant_l1", "ways")->number(), 4);  // without --full
  EXPECT_EQ(topology.find_attribute("constant_l1", "sets")->reason, Reason::kNotSelected);
  EXPECT_EQ(topology.find_attribute("constant_l1", "size")->reason, Reason::kNotSelected);  // though it was needed
  EXPECT_TRUE(topology.find_attribute("shared", "size")->available());
  EXPECT_EQ(topology.find_attribute("texture", "size")->reason, Reason::kNotSelected);
}

// As CSV, JSON and diff call them.
TEST(DiscoverSelection, NamesOfOutputsAreTaken) {
  const Topology topology = discover_only({"memory.shared", "memory.constant_l1.size"});
  EXPECT_TRUE(topology.find_attribute("shared", "size")->available());
  EXPECT_TRUE(topology.find_attribute("constant_l1", "size")->available());
  EXPECT_EQ(topology.find_attribute("constant_l1", "latency")->reason, Reason::kNotSelected);
}

TEST(DiscoverSelection, WithoutAnL2NothingIsMeasuredOfIt) {
  EXPECT_EQ(discover_only({"l2.loaded_latency"}).find_attribute("l2", "loaded_latency")->reason, Reason::kNotPresent);
}

TEST(DiscoverSelection, UnknownOnesAreNamed) {
  EXPECT_THAT(test::message_of<UsageError>("", [] { discover_only({"L1"}); }), HasSubstr("did you mean l1?"));
  EXPECT_THAT(test::message_of<UsageError>("", [] { discover_only({"memory.devise"}); }),
              HasSubstr("did you mean device?"));

  EXPECT_THAT(test::message_of<UsageError>("", [] { discover_only({"l7.size"}); }), HasSubstr("unknown element 'l7'"));
  EXPECT_THAT(test::message_of<UsageError>("", [] { discover_only({"l2.weight"}); }),
              HasSubstr("unknown attribute 'weight'"));
}

}  // namespace
}  // namespace gputopo
