#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gputopo/report.h"
#include "report/drawing/chip.h"
#include "report/words/unit_map.h"
#include "support/sample_topology.h"

namespace gputopo {
namespace {

using report::UnitLevel;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

Attribute groups(UnitGroups map) { return api_value(std::move(map), ""); }

// Eight SMs: two partitions of four, and pairs behind one cache.
Topology mapped() {
  Topology topology = test::sample_topology();
  get_or_add(topology.compute, "sm_count") = api_value(std::int64_t{8}, "");
  get_or_add(topology.memory[2].attributes, "near_sms") = groups({{{0, 1, 4, 5}, {2, 3, 6, 7}}});
  MemoryElement cache{"icache_l1", "L1 instruction cache", {}};
  cache.attributes = {{"size", api_value(32768.0, "B")},
                      {"shared_between", groups({{{0, 1}, {2, 3}, {4, 5}, {6, 7}}})}};
  topology.memory.push_back(cache);
  return topology;
}

TEST(UnitMap, SaysUnitsAsRanges) { EXPECT_EQ(report::unit_ranges({3, 0, 1, 2, 7}), "0-3, 7"); }

TEST(UnitMap, SaysAMapInAFewWords) {
  EXPECT_EQ(report::unit_groups_text(UnitGroups{{{0, 1}, {2, 3}, {4}}}), "2 groups of 2, 1 group of 1");
  EXPECT_EQ(report::unit_groups_text(std::vector<std::string>{"texture", "readonly"}), "");
  EXPECT_EQ(report::unit_groups_text(std::vector<std::string>{"0+1"}), "");  // a text is no map
  EXPECT_EQ(report::unit_groups_text(UnitGroups{{{0, 1}, {1, 2}}}), "");     // nor are groups that share an SM
  EXPECT_EQ(report::unit_groups_text(UnitGroups{{{0, 1}, {}}}), "");
  EXPECT_EQ(report::unit_groups_text(UnitGroups{}), "");
  EXPECT_THAT(report::unit_groups_ranges(UnitGroups{{{0, 1, 2}, {7, 4}}}), ElementsAre("0-2", "4, 7"));
}

TEST(UnitMap, NestsTheLevels) {
  const std::vector<UnitLevel> levels = report::unit_levels(mapped());
  ASSERT_THAT(levels, SizeIs(2));
  EXPECT_EQ(levels[0].name, "L2 cache partition");
  EXPECT_EQ(levels[1].name, "TPC");
  EXPECT_THAT(report::groups_within(levels[1].groups, levels[0].groups[1]),
              ElementsAre(ElementsAre(2, 3), ElementsAre(6, 7)));
  EXPECT_THAT(report::groups_within({{0, 1}}, {0, 1, 9}), ElementsAre(ElementsAre(0, 1), ElementsAre(9)));
}

TEST(UnitMap, LeavesOutWhatCrossesAnotherLevel) {
  Topology topology = mapped();
  get_or_add(topology.memory[3].attributes, "shared_between") = groups({{{0, 2}, {1, 3}, {4, 5}, {6, 7}}});
  EXPECT_THAT(report::unit_levels(topology), SizeIs(1));
  get_or_add(topology.memory[3].attributes, "shared_between") = groups({{{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}}});
  EXPECT_THAT(report::unit_levels(topology), SizeIs(1));  // each SM has its own
}

TEST(UnitMap, DiesAreALevel) {
  Topology topology = test::sample_topology();
  topology.vendor = "AMD";
  get_or_add(topology.compute, "sm_count") = api_value(std::int64_t{6}, "");
  get_or_add(topology.compute, "sms_per_xcd") = api_value(std::int64_t{3}, "");
  get_or_add(topology.compute, "physical_sm_ids") = api_value(std::vector<double>{0, 2, 3, 64, 65, 67}, "");
  const std::vector<UnitLevel> levels = report::unit_levels(topology);
  ASSERT_THAT(levels, SizeIs(1));
  EXPECT_EQ(levels[0].name, "XCD");
  EXPECT_THAT(levels[0].groups, ElementsAre(ElementsAre(0, 2, 3), ElementsAre(64, 65, 67)));
}

TEST(UnitMap, IsDrawnAndListed) {
  const std::string svg = to_svg(mapped());
  EXPECT_THAT(svg, HasSubstr("L2 cache partition 1: 4 SMs"));
  EXPECT_THAT(svg, HasSubstr("near one partition of the L2 cache: 4 SMs 2-3, 6-7"));
  EXPECT_THAT(svg, HasSubstr("per 2 SMs: 32 KiB"));
  const std::string tree = to_tree(mapped(), {});
  EXPECT_THAT(tree, HasSubstr("0+1 4+5"));
  EXPECT_THAT(tree, HasSubstr("L2 cache partition 2: 4 SMs"));
  EXPECT_THAT(to_html(mapped()), HasSubstr("<ol class=\"groups\"><li>0-1, 4-5</li>"));
  EXPECT_THAT(to_csv(mapped()), HasSubstr("l2,near_sms,0+1+4+5 2+3+6+7,"));
  EXPECT_THAT(to_terminal(mapped(), {}), Not(HasSubstr("0+1+4+5")));
}

// Two GPCs of six SMs, each with a cache, that cross the partitions of L2; each pair of SMs has a cache, too.
Topology with_gpcs() {
  Topology topology = test::sample_topology();
  topology.vendor = "NVIDIA";
  get_or_add(topology.compute, "sm_count") = api_value(std::int64_t{12}, "");
  Attribute& near = get_or_add(topology.memory[2].attributes, "near_sms");
  near = groups({{{0, 1, 2, 3, 4, 6}, {5, 7, 8, 9, 10, 11}}});
  SampleTable latencies{.name = "l2.near_sms.sms", .plot = Plot::kPoints};
  latencies.columns = {{"sm", ColumnRole::kAxis, "SM", ""},
                       {"latency_cycles", ColumnRole::kValue, "latency", "cycles"}};
  latencies.data = {{0, 1, 2}, {200, 210, 220}};
  near.samples = {latencies};
  topology.memory.push_back({"icache_l1",
                             "L1 instruction cache",
                             {{"size", api_value(32768.0, "B")},
                              {"shared_between", groups({{{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {10, 11}}})}}});
  topology.memory.push_back(
      {"icache_l2",
       "L2 instruction cache",
       {{"size", api_value(131072.0, "B")}, {"shared_between", groups({{{0, 1, 2, 3, 4, 5}, {6, 7, 8, 9, 10, 11}}})}}});
  return topology;
}

TEST(ChipDrawing, HasCachesWhereTheyAre) {
  const std::string svg = to_svg(with_gpcs());
  EXPECT_THAT(svg, HasSubstr("12 SMs in 2 GPCs, 6 TPCs"));
  const std::size_t gpc = svg.find(">GPC of 6 SMs<");
  const std::size_t tpc = svg.find(">TPC of 2 SMs<");
  const std::size_t sm = svg.find(">One SM<");
  EXPECT_LT(gpc, tpc);
  EXPECT_LT(tpc, sm);
  EXPECT_LT(sm, svg.rfind(">L1 instruction cache<"));
  EXPECT_LT(svg.rfind(">L1 instruction cache<"), svg.rfind(">L2 instruction cache<"));
  // At the foot of each GPC. For the enlarged SM's GPC, the figures are on a separate line.
  EXPECT_THAT(svg, HasSubstr("class=\"foot\">L2 instruction"));
  EXPECT_THAT(svg, HasSubstr("cell of-part-1"));
  EXPECT_THAT(svg, HasSubstr("cell of-part-2"));
}

TEST(ChipDrawing, HasLatenciesOfSmsInAPageAlone) {
  EXPECT_THAT(to_html(with_gpcs()), HasSubstr("id=\"heat\" hidden>L2 latency of each SM</button>"));
  EXPECT_THAT(to_html(with_gpcs()), HasSubstr("L2 latency, 200 cycles (light) to 220 cycles (dark)"));
  EXPECT_THAT(to_svg(with_gpcs()), Not(HasSubstr("class=\"heat\"")));
  EXPECT_THAT(to_html(mapped()), Not(HasSubstr("id=\"heat\"")));
}

TEST(ChipDrawing, PutsACacheOfEachDieIntoTheDies) {
  Topology topology = test::sample_topology();
  topology.vendor = "AMD";
  get_or_add(topology.compute, "sm_count") = api_value(std::int64_t{12}, "");
  get_or_add(topology.compute, "sms_per_xcd") = api_value(std::int64_t{6}, "");
  topology.memory = {
      {"l2", "L2 cache", {{"size", api_value(4194304.0, "B")}, {"amount", api_value(2.0, "per GPU")}}},
      {"l3", "L3 cache", {{"size", api_value(268435456.0, "B")}, {"amount", api_value(1.0, "per GPU")}}}};
  const report::Chip chip = report::chip_of(topology);
  ASSERT_THAT(chip.on_chip, SizeIs(2));
  EXPECT_TRUE(chip.on_chip[0].is_of_die);
  EXPECT_FALSE(chip.on_chip[1].is_of_die);
  EXPECT_EQ(level_of(chip, chip.on_chip[0]), 0u);
  EXPECT_EQ(level_of(chip, chip.on_chip[1]), std::nullopt);
  EXPECT_THAT(to_svg(topology), HasSubstr(">XCD of 6 CUs<"));
}

TEST(Chip, ACacheOfAllSmsIsOutsideOfThem) {
  Topology topology = mapped();
  topology.memory.insert(topology.memory.begin() + 3, {"device", "Device memory", {{"size", api_value(1e9, "B")}}});
  topology.memory[4].attributes.emplace_back("scope", api_value(std::string("GPU"), ""));
  const report::Chip chip = report::chip_of(topology);
  ASSERT_THAT(chip.on_chip, SizeIs(3));
  EXPECT_EQ(chip.on_chip[1].elements.front()->id, "icache_l1");
  EXPECT_EQ(chip.on_chip[2].elements.front()->id, "device");  // the farthest
  topology.memory[4].attributes.back().second = api_value(std::string("2 SMs"), "");
  EXPECT_EQ(report::chip_of(topology).in_unit.back().shared_by, "2 SMs");
}

// Measured values take precedence over the catalog's place of an element, and count alone for unknown elements.
TEST(Chip, AnElementStandsWhereTheReportOrTheCataloguePutsIt) {
  Topology topology = test::sample_topology();
  topology.memory = {{"l2", "L2 cache", {{"size", api_value(1e6, "B")}}},
                     {"l9", "L9 cache", {{"size", api_value(1e6, "B")}}},
                     {"l10", "L10 cache", {{"size", api_value(1e6, "B")}, {"amount", api_value(1.0, "per GPU")}}}};
  const report::Chip chip = report::chip_of(topology);
  ASSERT_THAT(chip.on_chip, SizeIs(2));
  EXPECT_EQ(chip.on_chip[0].elements.front()->id, "l2");
  EXPECT_EQ(chip.on_chip[1].elements.front()->id, "l10");
  ASSERT_THAT(chip.in_unit, SizeIs(1));
  EXPECT_EQ(chip.in_unit[0].elements.front()->id, "l9");
}

}  // namespace
}  // namespace gputopo
