// From documents to runs, merging, and how much a judgement takes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "fleet/document.h"
#include "fleet/judgement.h"
#include "fleet/merge.h"
#include "fleet/store.h"
#include "fleet/store_file.h"
#include "fleet/store_reader.h"
#include "gputopo/error.h"
#include "gputopo/file.h"
#include "gputopo/report.h"
#include "support/command.h"
#include "support/fleet_model.h"
#include "support/message_of.h"
#include "support/sample_topology.h"

namespace gputopo::fleet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Reading* reading_at(const fleet::Run& run, const std::string& path) {
  for (const Reading& reading : run.readings) {
    if (reading.path == path) return &reading;
  }
  return nullptr;
}

std::string report_text() { return read_file(GPUTOPO_SOURCE_DIR "/tests/reports/h200.json"); }

TEST(FleetReading, AReportIsARun) {
  const Document document = read_document(report_text(), "node7", false);
  ASSERT_EQ(document.runs.size(), 1u);
  const fleet::Run& run = document.runs.front();
  EXPECT_EQ(run.model, "NVIDIA H200");
  EXPECT_EQ(run.driver, "580.159.04 (CUDA 13.0)");
  EXPECT_EQ(run.name, "");
  EXPECT_FALSE(run.simulated);
  ASSERT_NE(reading_at(run, "l2.latency"), nullptr);
  EXPECT_DOUBLE_EQ(reading_at(run, "l2.latency")->value, 281.19);
  EXPECT_EQ(reading_at(run, "l2.latency")->unit, "cycles");
  EXPECT_EQ(reading_at(run, "l2.latency")->source, "measured");
  EXPECT_EQ(reading_at(run, "l2.index")->text, "hashed");
  EXPECT_EQ(reading_at(run, "device.mig_enabled")->text, "no");
  EXPECT_EQ(reading_at(run, "l2.slices")->reason, "device_error");
  EXPECT_EQ(reading_at(run, "l1.partitions"), nullptr);  // this GPU cannot have any
}

TEST(FleetReading, TheIdIsOfThePlaceAndSaysNothingOfIt) {
  const auto id = [](const std::string& place) { return read_document(report_text(), place, false).runs.at(0).gpu; };
  EXPECT_EQ(id("node7"), id("node7"));
  EXPECT_NE(id("node7"), id("node8"));
  EXPECT_EQ(id("node7").find("node"), std::string::npos);
  EXPECT_EQ(id("node7").size(), 16u);
  EXPECT_EQ(read_document(report_text(), "node7", true).runs.at(0).name, "node7");
}

TEST(FleetReading, PlacesAreWithoutDates) {
  EXPECT_EQ(place_of("2026-11-25/node7.json"), "node7");
  EXPECT_EQ(place_of("20261125T0300/rack1/node7.json"), "rack1/node7");
  EXPECT_EQ(place_of("rack1/node7.json"), "rack1/node7");
  EXPECT_EQ(place_of("12345/node7.json"), "12345/node7");
  EXPECT_EQ(place_of("10002000/node7.json"), "10002000/node7");  // a host's number, no date
  EXPECT_EQ(place_of("2026-11-25_03:00/node7.json"), "node7");
  EXPECT_EQ(place_of("202611250300/node7.json"), "node7");
}

TEST(FleetReading, TimesAreReadAndWritten) {
  EXPECT_EQ(parse_timestamp("1970-01-02T00:00:01Z"), 86401);
  EXPECT_EQ(parse_timestamp("2026-11-25T16:10:06Z"), 1795623006);
  EXPECT_EQ(timestamp_text(1795623006), "2026-11-25T16:10:06Z");
  for (const char* wrong : {"", "yesterday", "2026-13-25T16:10:06Z", "2026-11-25 16:10:06Z", "2026-02-30T00:00:00Z"}) {
    EXPECT_EQ(parse_timestamp(wrong), std::nullopt) << wrong;
  }
}

std::string node_text() {
  return R"({"format": "gputopo-node", "schema_version": 2, "generator": "gputopo 0.1.0",
    "timestamp": "2026-11-25T03:00:00Z", "host": {"id": "h1", "name": "node7"},
    "gpus": [{"spec": "cuda:0", "id": "g0", "report": )" +
         report_text() + R"(},
             {"spec": "cuda:1", "failure": "the device was lost"},
             {"spec": "cuda:2", "report": {"schema_version": 4}},
             {"spec": "cuda:3", "id": "g3", "name": "NVIDIA H200", "pcie_generation": 5, "pcie_width": 16}],
    "driver_version": "580", "peers": [{"from": "gpu0", "to": "gpu1", "kind": "nvlink", "lanes": 18}],
    "links": [{"from": "gpu0", "to": "gpu1", "kind": "nvlink", "attributes": {
        "copy_bandwidth": {"value": 3.9e11, "unit": "B/s", "low": 3.8e11, "high": 4e11, "source": "measured"},
        "peer_access": {"value": true, "unit": "", "low": null, "high": null, "source": "api"}}},
      {"from": "host", "to": "gpu0", "kind": "pcie"},
      {"from": "gpu8", "to": "gpu9", "kind": "nvlink"}]})";
}

TEST(FleetReading, ANodeIsARunOfEachGpuWithALineForWhatIsNone) {
  const Document document = read_document(node_text(), "x", true);
  ASSERT_EQ(document.runs.size(), 4u);
  const fleet::Run& run = document.runs.front();
  EXPECT_EQ(reading_at(run, "link.gpu0-gpu1.lanes")->value, 18);
  // GPUs that could not be measured stay in the fleet.
  for (const std::size_t failed : {1, 2}) {
    EXPECT_EQ(reading_at(document.runs[failed], "device.verdict")->source, "not_judged");
  }
  EXPECT_THAT(reading_at(document.runs[1], "device.verdict")->text, HasSubstr("the device was lost"));
  // Only the links of this GPU were measured.
  EXPECT_EQ(document.runs[3].gpu, "g3");
  EXPECT_EQ(document.runs[3].model, "NVIDIA H200");
  EXPECT_EQ(document.runs[3].driver, "580");
  // The node judges these by the slot.
  EXPECT_EQ(reading_at(document.runs[3], "device.pcie_width"), nullptr);
  EXPECT_EQ(reading_at(document.runs[3], "device.pcie_generation"), nullptr);
  EXPECT_EQ(run.host, "h1");
  EXPECT_EQ(run.gpu, "g0");
  EXPECT_EQ(run.name, "node7 gpu0");
  EXPECT_EQ(reading_at(run, "link.gpu0-gpu1.kind")->text, "nvlink");
  EXPECT_DOUBLE_EQ(reading_at(run, "link.gpu0-gpu1.copy_bandwidth")->value, 3.9e11);
  EXPECT_EQ(reading_at(run, "link.gpu0-gpu1.peer_access")->text, "yes");
  EXPECT_EQ(reading_at(run, "link.host-gpu0.kind")->text, "pcie");
  EXPECT_THAT(document.problems, ElementsAre(HasSubstr("GPU 1 (cuda:1) has no report: the device was lost"),
                                             HasSubstr("GPU 2 (cuda:2): not a gputopo report"),
                                             HasSubstr("neither end of the link gpu8-gpu9 is a GPU of the node"),
                                             HasSubstr("the links are not judged")));
}

TEST(FleetReading, NamesAreKeptOnlyIfAskedFor) {
  EXPECT_EQ(read_document(node_text(), "x", false).runs.at(0).name, "");
}

TEST(FleetReading, WhatIsNeitherSaysSo) {
  const auto message = [](const std::string& text) {
    return test::message_of<FormatError>("reading", [&] { (void)read_document(text, "x", false); });
  };
  EXPECT_THAT(message("hello"), HasSubstr("not a gputopo report"));
  EXPECT_THAT(message(report_text().substr(0, 5000)), HasSubstr("file is truncated"));
  EXPECT_THAT(message(R"({"format": "gputopo-node", "schema_version": 9})"), HasSubstr("the schema version"));
  EXPECT_THAT(message(R"({"format": "gputopo-node", "schema_version": 2})"), HasSubstr("no 'gpus'"));
  EXPECT_THAT(message(R"({"format": "gputopo-node", "schema_version": 2, "gpus": 7})"), HasSubstr("not a list"));
}

// ---- What is judged ----

fleet::Run run_with_latencies(int gpu, const std::vector<int>& values) {
  fleet::Run run{.gpu = std::to_string(gpu), .model = "A"};
  for (const int value : values) {
    run.readings.push_back({.path = "instructions.i" + std::to_string(value) + ".latency",
                            .value = 10 + 0.01 * gpu,
                            .unit = "cycles",
                            .source = "measured"});
  }
  return run;
}

// The table of GPUs and values grows with both, but a store may fill only a few of its cells.
TEST(FleetStore, AJudgementTakesNoMoreThanItsStore) {
  Store many_values;
  std::vector<int> values(3000);
  std::iota(values.begin(), values.end(), 0);
  for (int gpu = 0; gpu < 8; ++gpu) many_values.add(run_with_latencies(gpu, values));
  EXPECT_THAT(test::message_of<FormatError>("judging", [&] { (void)judge(many_values, 0); }),
              HasSubstr("different values of 'A'"));
  Store sparse;
  for (int gpu = 0; gpu < 20'000; ++gpu) sparse.add(run_with_latencies(gpu, {gpu / 10}));
  EXPECT_THAT(test::message_of<FormatError>("judging", [&] { (void)judge(sparse, 0); }),
              HasSubstr("the 'A' GPUs in the store have too few values in common"));
  Store usual;
  values.resize(500);
  for (int gpu = 0; gpu < 300; ++gpu) usual.add(run_with_latencies(gpu, gpu < 30 ? values : std::vector{1}));
  EXPECT_EQ(judge(usual, 0).gpus, 300u);
}

// ---- Merging ----

class Merging : public testing::Test {
 protected:
  void put(const std::string& name, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(folder_.file(name)).parent_path());
    write_file(folder_.file(name), text);
  }
  MergeSummary merged() {
    said_.clear();
    const Complain say = [&](const std::string& problem) { said_.push_back(problem); };
    return merge(find_sources({folder_.path()}, say), {}, store_, say);
  }
  test::TemporaryFolder folder_;
  test::TemporaryFolder store_folder_;
  StoreFile store_{store_folder_.file("s.db"), sqlite::Access::kCreate, {}};
  std::vector<std::string> said_;
};

TEST_F(Merging, ABadFileCostsNoGoodOne) {
  put("a/good.json", report_text());
  put("a/half.json", report_text().substr(0, 3000));
  put("b/empty.json", "");
  put("b/other.json", "{\"format\": \"something else\"}");
  put("b/notes.txt", "no report");
  put("b/.hidden.json", "unfinished");
  const MergeSummary summary = merged();
  EXPECT_EQ(summary.added, 1u);
  EXPECT_EQ(summary.problems, 3u);
  EXPECT_THAT(said_, ElementsAre(HasSubstr("a/half.json"), HasSubstr("b/empty.json"), HasSubstr("b/other.json")));
}

// The path of the innermost folder exceeds the system's limit, so no user can read it, not even root.
TEST_F(Merging, AFolderThatCannotBeReadCostsNoOther) {
  put("a.json", report_text());
  const std::filesystem::path start = std::filesystem::current_path();
  std::filesystem::current_path(folder_.path());
  const std::string name(250, 'd');
  for (int depth = 0; depth < 20; ++depth) {
    std::filesystem::create_directory(name);
    std::filesystem::current_path(name);
  }
  std::filesystem::current_path(start);
  const MergeSummary summary = merged();
  EXPECT_EQ(summary.added, 1u);
  EXPECT_EQ(summary.problems, 1u);
  EXPECT_THAT(said_, ElementsAre(testing::AllOf(HasSubstr("cannot read '" + folder_.file(name) + "/" + name),
                                                HasSubstr("File name too long"))));
}

TEST_F(Merging, LinksInACircleEnd) {
  put("a/good.json", report_text());
  std::filesystem::create_directory_symlink("..", folder_.file("a/up"));
  std::filesystem::create_symlink("loop.json", folder_.file("a/loop.json"));
  EXPECT_EQ(merged().added, 1u);
  EXPECT_THAT(said_, ElementsAre(HasSubstr("cannot read '" + folder_.file("a/loop.json"))));
}

TEST_F(Merging, TheSameContentIsKeptOnce) {
  put("a.json", report_text());
  put("copy.json", report_text());
  EXPECT_EQ(merged().added, 1u);
  const MergeSummary again = merged();
  EXPECT_EQ(again.added, 0u);
  EXPECT_EQ(again.known, 2u);
  EXPECT_EQ(store_.run_count(), 1);
}

TEST_F(Merging, ALaterNightIsHistoryOfTheSameGpu) {
  Topology topology = read_json(report_text());
  for (const char* night : {"2026-11-24", "2026-11-25"}) {
    topology.timestamp = std::string(night) + "T03:00:00Z";
    put(std::string(night) + "/node7.json", to_json(topology));
  }
  EXPECT_EQ(merged().added, 2u);
  store_.commit();
  const Store read = read_store(store_folder_.file("s.db"), 0, {});
  EXPECT_EQ(read.runs().at(0).gpu, read.runs().at(1).gpu);
}

TEST_F(Merging, AFolderThatIsNotThereIsAnError) {
  EXPECT_THROW((void)find_sources({folder_.file("none")}, [](const std::string&) {}), FileError);
}

}  // namespace
}  // namespace gputopo::fleet
