// Reports of older schema versions: read as this version would have them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "gputopo/error.h"
#include "gputopo/report.h"
#include "probe/bench/evidence.h"
#include "report/json/upgrade.h"

namespace gputopo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Json = nlohmann::ordered_json;

std::string saved(const std::string& name) { return read_file(GPUTOPO_SOURCE_DIR "/tests/reports/" + name + ".json"); }

// As version 2 has a table: with names only.
SampleTable untyped(std::string name, const std::vector<std::string>& columns,
                    std::vector<std::vector<double>> data = {}) {
  SampleTable table{.name = std::move(name), .plot = Plot::kNone};
  for (const std::string& column : columns) table.columns.push_back({.name = column});
  table.data = std::move(data);
  table.data.resize(columns.size());
  return table;
}

Attribute upgraded(const std::string& name, const Attribute& attribute) {
  Topology topology;
  topology.memory = {{"l1", "L1 data cache", {{name, attribute}}}};
  report::upgrade(topology);
  return topology.memory[0].attributes[0].second;
}

Value upgraded_value(const std::string& name, const std::vector<std::string>& texts) {
  return upgraded(name, api_value(texts, "")).value;
}

TEST(ReportUpgrade, GroupsOfTextAreGroups) {
  EXPECT_EQ(upgraded_value("near_sms", {"0+1+16", "17"}), Value(UnitGroups{{{0, 1, 16}, {17}}}));
  EXPECT_EQ(upgraded_value("shared_between", {}), Value(UnitGroups{}));
  for (const char* text : {"", "+", "1+", "1++2", "a", "-1", "1 2", "99999999999", "<script>"}) {
    EXPECT_EQ(upgraded_value("near_sms", {"0", text}), Value(std::vector<std::string>{"0", text})) << text;
  }
  // Names that look like groups are names.
  EXPECT_EQ(upgraded_value("shared_with", {"0+1"}), Value(std::vector<std::string>{"0+1"}));
}

TEST(ReportUpgrade, TablesGetTheirTypesByName) {
  Attribute latency = api_value(40.0, "cycles");
  latency.details = {{"timer_cycles", 39.5}};
  latency.samples = {untyped("l1.latency.levels", {"raw_latency_cycles", "loads"}),
                     untyped("l1.latency.latency", {"warps_in_flight", "latency_cycles"})};
  const Attribute result = upgraded("latency", latency);
  EXPECT_EQ(result.samples[0].plot, Plot::kBars);
  EXPECT_THAT(result.samples[0].columns, ElementsAre(probe::raw_latency_axis(), probe::load_counts()));
  EXPECT_THAT(result.samples[0].marks, ElementsAre("levels_cycles"));
  EXPECT_EQ(result.samples[0].timer_cycles, 39.5);
  EXPECT_EQ(result.samples[1].plot, Plot::kLine);
  EXPECT_THAT(result.samples[1].columns, ElementsAre(probe::axis("warps_in_flight", "in flight", "warps"),
                                                     probe::values("latency_cycles", "latency", "cycles")));
  EXPECT_EQ(result.samples[1].timer_cycles, 0);  // not raw
}

TEST(ReportUpgrade, ATableOfAnotherNameOrShapeIsItsLastColumnOverItsFirst) {
  Attribute attribute = api_value(1.0, "");
  attribute.samples = {untyped("l1.size.mystery", {"stride_bytes", "warps", "added_cycles"}),
                       untyped("l1.size.sweep", {"loads", "footprint_bytes"}), untyped("l1.size.one", {"x"}),
                       untyped("l1.size.none", {})};
  const Attribute result = upgraded("size", attribute);
  EXPECT_EQ(result.samples[0].plot, Plot::kLine);
  EXPECT_THAT(result.samples[0].columns,
              ElementsAre(probe::axis("stride_bytes", "stride", "B"), probe::series("warps", "warps"),
                          probe::values("added_cycles", "added", "cycles")));
  EXPECT_EQ(result.samples[1].columns[1].role, ColumnRole::kValue);
  EXPECT_EQ(result.samples[2].plot, Plot::kNone);
  EXPECT_EQ(result.samples[3].plot, Plot::kNone);
}

TEST(ReportUpgrade, ListsAmongTheDetailsAreATable) {
  const std::vector<double> carve_outs = {0, 8192};
  const std::vector<double> sizes = {262144, 253952};
  Attribute size = api_value(262144.0, "B");
  size.details = {{"carve_outs_bytes", carve_outs}, {"size_by_carve_out_bytes", sizes}};
  const Attribute result = upgraded("size", size);
  ASSERT_THAT(result.samples, SizeIs(1));
  EXPECT_EQ(result.samples[0].name, "l1.size.by_carve_out");
  EXPECT_EQ(result.samples[0].plot, Plot::kLine);
  EXPECT_THAT(result.samples[0].columns,
              ElementsAre(probe::axis("carve_out_bytes", "carve out", "B"), probe::values("size_bytes", "size", "B")));
  EXPECT_THAT(result.samples[0].data, ElementsAre(carve_outs, sizes));
  EXPECT_EQ(result.details, size.details);
  // No axis, or nothing over it, is no table.
  size.details = {{"size_by_carve_out_bytes", sizes}};
  EXPECT_THAT(upgraded("size", size).samples, IsEmpty());
  size.details = {{"carve_outs_bytes", carve_outs}, {"size_by_carve_out_bytes", std::vector<double>{1, 2, 3}}};
  EXPECT_THAT(upgraded("size", size).samples, IsEmpty());
}

TEST(ReportUpgrade, AReportOfVersion1) {
  const Topology topology = read_json(saved("version_1"));
  EXPECT_EQ(topology.schema_version, 1);
  EXPECT_EQ(*topology.find_attribute("l1", "size")->number(), 244352);
  EXPECT_THAT(topology.find_attribute("l1", "latency")->samples, IsEmpty());
  const auto& near = std::get<UnitGroups>(topology.find_attribute("l2", "near_sms")->value);
  ASSERT_THAT(near.groups, SizeIs(2));
  EXPECT_THAT(near.groups[0], SizeIs(66));
  // It had lists, which are what this version has as tables.
  EXPECT_EQ(topology.find_attribute("l1", "size")->samples.at(0).name, "l1.size.by_carve_out");
  EXPECT_EQ(topology.find_attribute("bulk_copy", "latency")->samples.at(0).name, "bulk_copy.latency.by_copy");
}

TEST(ReportUpgrade, AReportOfVersion2) {
  const Topology topology = read_json(saved("version_2"));
  EXPECT_EQ(topology.schema_version, 2);
  const auto& shared = std::get<UnitGroups>(topology.find_attribute("icache_l1", "shared_between")->value);
  EXPECT_THAT(shared.groups, SizeIs(66));
  EXPECT_THAT(shared.groups[1], ElementsAre(2, 3));
  std::set<Plot> plots;
  for (const MemoryElement& element : topology.memory) {
    for (const auto& [name, attribute] : element.attributes) {
      for (const SampleTable& table : attribute.samples) {
        plots.insert(table.plot);
        EXPECT_NE(table.plot, Plot::kNone) << table.name;
        for (const Column& column : table.columns) EXPECT_NE(column.quantity, "") << table.name << column.name;
      }
    }
  }
  EXPECT_THAT(plots, ElementsAre(Plot::kLine, Plot::kPoints, Plot::kBars, Plot::kDensity, Plot::kMap));
}

// What is written is of this version, says which it was made with, and is the same the second time.
TEST(ReportUpgrade, WrittenAgainItSaysWhatItWasMadeWith) {
  for (const int version : {1, 2}) {
    const Topology old = read_json(saved("version_" + std::to_string(version)));
    const std::string text = to_json(old);
    EXPECT_THAT(text, HasSubstr("\"schema_version\": 3,"));
    EXPECT_THAT(text, HasSubstr("\"upgraded_from\": " + std::to_string(version) + ","));
    EXPECT_EQ(read_json(text), old);
    EXPECT_EQ(to_json(read_json(text)), text);
    EXPECT_THAT(to_terminal(read_json(text), {.width = 200}),
                HasSubstr("this report has schema version " + std::to_string(version)));
  }
}

TEST(ReportUpgrade, RefusesToHaveComeFromALaterVersion) {
  Json json = Json::parse(to_json(read_json(saved("version_2"))));
  for (const std::int64_t version : {0L, 3L, 4L, 1L << 40}) {
    json["upgraded_from"] = version;
    EXPECT_THROW((void)read_json(json.dump()), FormatError) << version;
  }
}

// The tables of the probes without what version 3 says of them: the upgrade finds it out by their names. Tables that
// version 2 had as lists are not among them.
Json without_types(const std::string& report) {
  Json json = Json::parse(report);
  json["schema_version"] = 2;
  json.erase("upgraded_from");
  for (auto& element : json["memory"]) {
    for (auto& attribute : element) {
      if (!attribute.is_object() || !attribute.contains("samples")) continue;
      Json tables = Json::array();
      for (Json table : attribute["samples"]) {
        if (table["name"].get<std::string>().find(".by_") != std::string::npos) continue;
        Json names = Json::array();
        for (const Json& column : table["columns"]) names.push_back(column["name"]);
        table["columns"] = names;
        for (const char* member : {"plot", "marks", "timer_cycles"}) table.erase(member);
        tables.push_back(std::move(table));
      }
      attribute["samples"] = tables;
    }
  }
  return json;
}

class UpgradeOfReports : public ::testing::TestWithParam<const char*> {};

TEST_P(UpgradeOfReports, KnowsEachTableAsTheProbesWriteIt) {
  const Topology typed = read_json(saved(GetParam()));
  const Topology upgraded = read_json(without_types(to_json(typed)).dump());
  int tables = 0;
  for (const MemoryElement& element : typed.memory) {
    for (const auto& [name, attribute] : element.attributes) {
      const Attribute* other = upgraded.find_attribute(element.id, name);
      ASSERT_NE(other, nullptr);
      ASSERT_EQ(other->samples.size(), attribute.samples.size()) << element.id << "." << name;
      for (std::size_t i = 0; i < attribute.samples.size(); ++i) {
        const SampleTable& expected = attribute.samples[i];
        ++tables;
        EXPECT_EQ(other->samples[i].name, expected.name);
        EXPECT_EQ(other->samples[i].plot, expected.plot) << expected.name;
        EXPECT_EQ(other->samples[i].columns, expected.columns) << expected.name;
        EXPECT_EQ(other->samples[i].marks, expected.marks) << expected.name;
        EXPECT_EQ(other->samples[i].data.size(), expected.data.size()) << expected.name;
      }
    }
  }
  EXPECT_GE(tables, 10) << "the saved report has no samples";
}

INSTANTIATE_TEST_SUITE_P(Reports, UpgradeOfReports, ::testing::Values("h200", "mi300x", "gt200"),
                         [](const auto& name) { return std::string(name.param); });

}  // namespace
}  // namespace gputopo
