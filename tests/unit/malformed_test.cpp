// One malformed table of samples must not cost the report.
#include "discover/malformed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gputopo/report.h"
#include "support/saved_report.h"

namespace gputopo {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

SampleTable table_with(std::vector<std::vector<double>> data) {
  return {.name = "shared.banks.strides", .columns = {{.name = "x"}, {.name = "y"}}, .data = std::move(data)};
}

Topology topology_with(const SampleTable& table) {
  Topology topology = test::saved_report("h200");
  topology.warnings.clear();
  topology.memory = {{"shared", "Shared memory", {}}};
  for (const char* name : {"banks", "size"}) {
    Attribute& attribute = get_or_add(topology.memory[0].attributes, name);
    attribute = api_value(std::int64_t{32}, "");
    if (name == std::string("banks")) attribute.samples = {table_with({{1}, {2}}), table};
  }
  return topology;
}

TEST(Malformed, OnlyTheValueWithTheTableIsWithdrawn) {
  for (const auto& data : {std::vector<std::vector<double>>{{1, 2}, {3}}, {{1, 2}}, {{1}, {2}, {3}}}) {
    Topology topology = topology_with(table_with(data));
    withdraw_malformed(topology);
    const AttributeMap& shared = topology.memory[0].attributes;
    EXPECT_FALSE(find(shared, "banks")->available());
    EXPECT_TRUE(find(shared, "size")->available());
    EXPECT_THAT(topology.warnings, ElementsAre(HasSubstr("shared.banks: gputopo has a bug")));
    EXPECT_NO_THROW(static_cast<void>(read_json(to_json(topology))));
  }
}

TEST(Malformed, WellFormedTablesStay) {
  Topology topology = topology_with(table_with({{}, {}}));
  const Topology before = topology;
  withdraw_malformed(topology);
  EXPECT_EQ(topology, before);
  EXPECT_THAT(topology.warnings, IsEmpty());
}

}  // namespace
}  // namespace gputopo
