#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "gputopo/error.h"
#include "gputopo/report.h"
#include "report/export/value_path.h"
#include "report/words/value_text.h"
#include "support/command.h"
#include "support/sample_topology.h"

namespace gputopo {
namespace {

using test::sample_topology;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

std::string error_of(const std::string& text) {
  try {
    (void)read_json(text);
  } catch (const FormatError& error) {
    return error.what();
  }
  return "no error";
}

// The error for the sample's JSON with one change.
template <typename Change>
std::string error_after(const Change& change) {
  auto json = nlohmann::ordered_json::parse(to_json(sample_topology()));
  change(json);
  return error_of(json.dump());
}

TEST(ReportJson, ReadsBackWhatItWrote) { EXPECT_EQ(read_json(to_json(sample_topology())), sample_topology()); }

TEST(ReportJson, WritesTheSameTextAgain) {
  const std::string text = to_json(sample_topology());
  EXPECT_EQ(to_json(read_json(text)), text);
}

// The page shows a path beside each value, which is its place in the JSON and an argument of `get`.
TEST(ReportJson, HasEachValueWherePagesSay) {
  for (const char* name : {"h200", "gt200", "mi300x"}) {
    const std::string text = read_file(std::string(GPUTOPO_SOURCE_DIR "/tests/reports/") + name + ".json");
    const nlohmann::json json = nlohmann::json::parse(text);
    const Topology topology = read_json(text);
    std::size_t count = 0;
    for (const report::ValueGroup& group : report::value_groups(topology)) {
      for (const auto& [id, attribute] : *group.attributes) {
        std::string path = report::json_path(group.id, id);
        EXPECT_EQ(report::value_at(topology, path), attribute) << path;
        // The lookup uses a JSON pointer, because names of operations contain points.
        const std::size_t open = path.find("[\"");
        std::string name_of_operation;
        if (open != std::string::npos) {
          const std::size_t close = path.find("\"]");
          name_of_operation = path.substr(open + 2, close - open - 2);
          path.replace(open, close + 2 - open, ".*");
        }
        std::ranges::replace(path, '.', '/');
        if (const std::size_t star = path.find('*'); star != std::string::npos)
          path.replace(star, 1, name_of_operation);
        EXPECT_TRUE(json.contains(nlohmann::json::json_pointer("/" + path))) << name << ": " << path;
        ++count;
      }
    }
    EXPECT_GT(count, 100u);
  }
}

TEST(ReportJson, ReadsBackAReportOfAlmostNothing) {
  Topology topology;
  topology.generator = "gputopo 0.1.0";
  EXPECT_EQ(read_json(to_json(topology)), topology);
}

TEST(ReportJson, SaysSimulatedInCapitals) {
  EXPECT_THAT(to_json(sample_topology()), HasSubstr("SIMULATED"));
  Topology real = sample_topology();
  real.simulated = false;
  EXPECT_THAT(to_json(real), Not(HasSubstr("SIMULATED")));
}

TEST(ReportJson, SurvivesTextThatIsNotUtf8) {
  Topology topology = sample_topology();
  topology.name = "GPU \xff";
  EXPECT_THAT(read_json(to_json(topology)).name, HasSubstr("GPU "));
}

TEST(ReportJson, RefusesWhatIsNotOurs) {
  for (const char* text :
       {"", "hello", "[1, 2]", "{}", R"({"schema_version": 1, "generator": "mt4g 1.2"})", "{\"schema_version\": 1"}) {
    EXPECT_THAT(error_of(text), HasSubstr("not a gputopo report")) << text;
  }
}

TEST(ReportJson, NamesBothSchemaVersions) {
  EXPECT_THAT(error_after([](auto& json) { json["schema_version"] = 7; }),
              AllOf(HasSubstr("schema version 7"), HasSubstr("reads version 4")));
}

TEST(ReportJson, RefusesGroupsOfWhatIsNoUnit) {
  for (const auto& wrong : {nlohmann::ordered_json(-1), nlohmann::ordered_json(1.5), nlohmann::ordered_json("0"),
                            nlohmann::ordered_json(4294967296)}) {
    EXPECT_THAT(error_after([&](auto& json) {
                  json["memory"]["l1"]["size"]["value"] = {{0, 1}, {2, wrong}};
                }),
                HasSubstr("'memory.l1.size.value[1][1]' is not"))
        << wrong;
  }
}

TEST(ReportJson, NamesTheFieldThatIsMissingOrWrong) {
  EXPECT_THAT(error_after([](auto& json) { json["device"].erase("vendor"); }), HasSubstr("no 'device.vendor'"));
  EXPECT_THAT(error_after([](auto& json) { json["memory"]["l1"]["size"].erase("unit"); }),
              HasSubstr("'memory.l1.size.unit'"));
  EXPECT_THAT(error_after([](auto& json) { json["memory"]["l1"]["size"]["low"] = "x"; }),
              HasSubstr("'memory.l1.size.low' is not a number"));
  EXPECT_THAT(error_after([](auto& json) { json["timing"]["probes"][1]["seconds"] = "x"; }),
              HasSubstr("'timing.probes[1].seconds'"));
  EXPECT_THAT(error_after([](auto& json) { json["memory"] = 3; }), HasSubstr("'memory' is not an object"));
  EXPECT_THAT(error_after([](auto& json) {
                json["memory"]["l1"]["size"]["value"] = {{"a", 1}};
              }),
              HasSubstr("'memory.l1.size.value'"));
  EXPECT_THAT(error_after([](auto& json) { json["memory"]["l1"]["size"]["source"] = "guessed"; }),
              HasSubstr("guessed"));
}

TEST(ReportJson, WhatIsNotFiniteIsNeverAMeasuredValue) {
  for (const double wrong : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    Topology topology = sample_topology();
    Attribute& attribute = topology.memory[0].attributes[0].second;
    attribute.value = wrong;
    Attribute& other = topology.memory[0].attributes[1].second;
    other.high = wrong;
    other.add_detail("odd", wrong);
    other.add_condition("odds", std::vector<double>{1, wrong});
    const std::string text = to_json(topology);
    const Topology read = read_json(text);
    EXPECT_EQ(to_json(read), text);
    const Attribute& written = read.memory[0].attributes[0].second;
    EXPECT_EQ(written.reason, Reason::kInconclusive);
    EXPECT_THAT(written.detail, HasSubstr("did not give a finite number"));
    EXPECT_EQ(read.memory[0].attributes[1].second.high, std::nullopt);
    EXPECT_EQ(read.memory[0].attributes[1].second.find_detail("odd"), nullptr);
    EXPECT_THAT(text, Not(HasSubstr("odds")));
  }
}

TEST(ReportJson, SaysWhereNullIsNoNumber) {
  EXPECT_THAT(error_after([](auto& json) {
                json["memory"]["l1"]["size"]["value"] = {1, nullptr};
              }),
              HasSubstr("'memory.l1.size.value[1]' is not a number"));
  EXPECT_THAT(error_after([](auto& json) { json["memory"]["l1"]["size"]["value"] = nullptr; }),
              HasSubstr("'memory.l1.size.value' is not a value"));
  EXPECT_THAT(error_after([](auto& json) { json["timing"]["total_seconds"] = nullptr; }),
              HasSubstr("'timing.total_seconds' is not a number"));
}

TEST(ReportJson, RefusesWhatNoReportHolds) {
  EXPECT_THAT(error_of("{\"schema_version\": 4,\n\"x\": 1e600}"), HasSubstr("a number that is too large at line 2"));
  EXPECT_THAT(error_of("{\"a\": " + std::string(100'000, '[')), HasSubstr("'a[0][0]"));
  EXPECT_THAT(error_after([](auto& json) { json["compute"]["sm_count"]["value"] = 4e9; }),
              HasSubstr("'compute.sm_count.value' is not a number between 1 and 4096"));
  EXPECT_THAT(error_after([](auto& json) { json["memory"]["l1"]["size"]["value"] = {{5000}}; }),
              HasSubstr("'memory.l1.size.value[0][0]' is not an SM number"));
  EXPECT_THAT(error_after([](auto& json) {
                for (int i = 0; i < 5000; ++i) json[std::to_string(i)] = 1;
              }),
              HasSubstr("more than 4096 members"));
}

TEST(ReportJson, GroupsOfUnitsAreListsOfNumbers) {
  Topology topology = sample_topology();
  get_or_add(topology.memory[2].attributes, "near_sms") = api_value(UnitGroups{{{0, 1, 4}, {2, 3}}}, "");
  get_or_add(topology.memory[0].attributes, "shared_between") = api_value(UnitGroups{}, "");
  const std::string text = to_json(topology);
  EXPECT_EQ(read_json(text), topology);
  EXPECT_THAT(text, HasSubstr("          [0,1,4],\n          [2,3]\n"));
}

TEST(ReportJson, TablesSayWhatTheyAre) {
  Topology topology = sample_topology();
  SampleTable& table = topology.memory[0].attributes[0].second.samples[0];
  table.columns.push_back({"low_cycles", ColumnRole::kLow, "lower bound", "cycles"});
  table.data.emplace_back(table.row_count(), 1.0);
  table.plot = Plot::kPoints;
  table.timer_cycles = 30.5;
  table.marks = {"first_miss_bytes"};
  const std::string text = to_json(topology);
  EXPECT_EQ(read_json(text), topology);
  EXPECT_THAT(text, HasSubstr(R"("plot": "points")"));
  EXPECT_THAT(text, HasSubstr(R"({"name":"low_cycles","role":"low","quantity":"lower bound","unit":"cycles"})"));
  EXPECT_THAT(text, HasSubstr(R"("timer_cycles": 30.5)"));
}

TEST(ReportJson, KeepsOneLineForAColumnOfSamples) {
  EXPECT_THAT(to_json(sample_topology()), HasSubstr("[34.25,1000000]"));
}

TEST(ReportJson, ThinsSamplesOnceAndForAll) {
  Topology topology = sample_topology();
  SampleTable& table = topology.memory[0].attributes[0].second.samples[0];
  for (int i = 0; i < 10000; ++i) {
    table.data[0].push_back(3000 + i);
    table.data[1].push_back(i == 7777 ? 1e9 : 1.0 / 3);
  }
  const std::string text = to_json(topology);
  EXPECT_EQ(to_json(read_json(text)), text);
  const Topology read = read_json(text);
  const SampleTable& thin = read.find_attribute("l1", "size")->samples[0];
  EXPECT_LE(thin.row_count(), 2000u);
  EXPECT_EQ(thin.measured_rows, 10002u);
  EXPECT_THAT(thin.data[0], testing::Contains(10777));  // the outlier
}

TEST(ReportJson, RefusesSamplesThatAreNoTable) {
  EXPECT_THAT(error_after([](auto& json) { json["memory"]["l1"]["size"]["samples"][0]["data"][0].erase(0); }),
              HasSubstr("is not a list of columns of equal length"));
  EXPECT_THAT(error_after([](auto& json) { json["memory"]["l1"]["size"]["samples"][0]["columns"].erase(0); }),
              HasSubstr("is not a list with one entry per column"));
  EXPECT_THAT(error_after([](auto& json) { json["memory"]["l1"]["size"]["samples"][0]["columns"][0] = "x_bytes"; }),
              HasSubstr("'memory.l1.size.samples[0].columns[0]' is not an object"));
  EXPECT_THAT(error_after([](auto& json) { json["memory"]["l1"]["size"]["samples"][0]["columns"][0]["role"] = "x"; }),
              HasSubstr("'x' is not a column role"));
  EXPECT_THAT(error_after([](auto& json) { json["memory"]["l1"]["size"]["samples"][0]["plot"] = "pie"; }),
              HasSubstr("'pie' is not a kind of plot"));
}

// Debian packages python3-jsonschema, but no C++ validator.
class ReportSchema : public ::testing::Test {
 protected:
  void SetUp() override {
    static const bool has_validator = test::run_command("python3 -c 'import jsonschema'").exit_code == 0;
    if (!has_validator) GTEST_SKIP() << "python3-jsonschema is not installed";
  }
  // The error of each report, empty if there is none. One call checks all, because starting Python takes longest.
  static std::vector<std::string> errors_of(const std::vector<std::string>& reports,
                                            const std::string& schema = "schema.json") {
    const test::TemporaryFolder folder;
    std::string command =
        "python3 " GPUTOPO_SOURCE_DIR "/tests/support/validate_report.py " GPUTOPO_SOURCE_DIR "/docs/" + schema;
    for (std::size_t i = 0; i < reports.size(); ++i) {
      const std::string file = folder.file(fmt::format("{}.json", i));
      write_file(file, reports[i]);
      command += " " + file;
    }
    const test::CommandResult result = test::run_command(command);
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return nlohmann::json::parse(result.out).get<std::vector<std::string>>();
  }
  // The program's own report for this command line.
  static std::string report_of(const std::string& arguments, const std::string& kind) {
    const test::CommandResult report = test::run_command(GPUTOPO_BINARY " " + arguments + " --quiet --json -");
    EXPECT_THAT(report.out, HasSubstr(kind)) << arguments << report.err;
    return report.out;
  }
};

TEST_F(ReportSchema, AcceptsWhatIsWritten) { EXPECT_THAT(errors_of({to_json(sample_topology())}), Each(IsEmpty())); }

TEST_F(ReportSchema, AcceptsWhatTheProgramWrites) {
  // A full run, an old GPU and an AMD GPU, a recording, a selection, and a run that the budget ended.
  std::vector<std::string> reports;
  for (const char* arguments :
       {"replay " GPUTOPO_SOURCE_DIR "/recordings/h200.gputopo --full", "--device sim:gt200", "--device sim:mi210",
        "--device sim:h200 --only l1,shared --attribute size,latency", "--device sim:h200 --budget 0.3"}) {
    reports.push_back(report_of(arguments, "schema_version"));
  }
  EXPECT_THAT(errors_of(reports), AllOf(SizeIs(5), Each(IsEmpty())));
}

TEST_F(ReportSchema, AcceptsWhatTheProgramWritesOfNodes) {
  std::vector<std::string> reports;
  std::vector<std::string> broken;
  for (const char* arguments : {"node --node sim:h200x2 --budget 2", "node --node sim:ring4 --links-only",
                                "node --node replay:" GPUTOPO_SOURCE_DIR "/recordings/h200x2 --links-only"}) {
    reports.push_back(report_of(arguments, "gputopo-node"));
    auto json = nlohmann::ordered_json::parse(reports.back());
    json["links"][0]["attributes"].begin()->erase("source");
    broken.push_back(json.dump());
  }
  EXPECT_THAT(errors_of(reports, "node_schema.json"), AllOf(SizeIs(3), Each(IsEmpty())));
  // Anything else is refused.
  EXPECT_THAT(errors_of(broken, "node_schema.json"), AllOf(SizeIs(3), Each(Not(IsEmpty()))));
}

TEST_F(ReportSchema, RefusesWhatItShould) {
  const auto whole = nlohmann::ordered_json::parse(to_json(sample_topology()));
  std::vector<std::string> broken;
  const auto after = [&](const auto& change) {
    auto json = whole;
    change(json);
    broken.push_back(json.dump());
  };
  after([](auto& json) { json.erase("complete"); });
  after([](auto& json) { json["device"].erase("label"); });
  after([](auto& json) { json["memory"]["L 9"] = json["memory"]["l1"]; });
  after([](auto& json) { json["memory"]["l1"]["size"].erase("unit"); });
  after([](auto& json) { json["memory"]["l1"]["write_bandwidth"]["reason"] = "tired"; });
  after([](auto& json) { json["compute"]["sm_count"] = 132; });
  after([](auto& json) { json["memory"]["l1"]["size"]["samples"][0]["plot"] = "pie"; });
  after([](auto& json) { json["memory"]["l1"]["size"]["samples"][0].erase("plot"); });
  after([](auto& json) { json["memory"]["l1"]["size"]["samples"][0]["columns"][0] = "x"; });
  after([](auto& json) { json["memory"]["l1"]["size"]["value"] = {{0, 1}, {"2+3"}}; });
  after([](auto& json) { json["schema_version"] = 2; });
  EXPECT_THAT(errors_of(broken), AllOf(SizeIs(11), Each(Not(IsEmpty()))));
}

}  // namespace
}  // namespace gputopo
