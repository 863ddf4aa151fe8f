// From documents to the store and back, and the messages about files that are neither.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "fleet/arrow_reader.h"
#include "fleet/arrow_table.h"
#include "fleet/arrow_writer.h"
#include "fleet/document.h"
#include "fleet/judgement.h"
#include "fleet/merge.h"
#include "fleet/store.h"
#include "fleet/store_file.h"
#include "gputopo/error.h"
#include "gputopo/file.h"
#include "gputopo/report.h"
#include "support/command.h"
#include "support/fleet_model.h"
#include "support/message_of.h"
#include "support/sample_topology.h"
#include "support/store_bomb.h"

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
  EXPECT_THAT(document.problems,
              ElementsAre(HasSubstr("GPU 1 (cuda:1) has no report: the device was lost"),
                          HasSubstr("GPU 2 (cuda:2): not a gputopo report"),
                          HasSubstr("the link gpu8-gpu9 is left out"), HasSubstr("the links are not judged")));
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

// ---- The store ----

fleet::Run some_run(const std::string& gpu) {
  return {
      .host = "h",
      .gpu = gpu,
      .model = "A",
      .timestamp = 5,
      .simulated = true,
      .readings = {
          {.path = "l2.latency", .value = 281.19, .low = 272.9, .high = 286.4, .unit = "cycles", .source = "measured"},
          {.path = "l2.index", .source = "measured", .text = "hashed"},
          {.path = "l2.slices", .source = "unavailable", .reason = "timed_out"}}};
}

TEST(FleetStore, IsReadAsItWasWritten) {
  Store store;
  EXPECT_TRUE(store.add(some_run("one"), "f1"));
  EXPECT_TRUE(store.add(some_run("two"), "f2"));
  EXPECT_FALSE(store.add(some_run("two"), "f3"));  // the same content twice
  const Store read = read_store(write_store(store));
  ASSERT_EQ(read.runs().size(), 2u);
  const StoredRun& run = read.runs()[1];
  EXPECT_EQ(read.text(run.gpu), "two");
  EXPECT_EQ(read.text(run.model), "A");
  EXPECT_EQ(run.driver, kNoWord);
  EXPECT_EQ(run.timestamp, 5);
  EXPECT_TRUE(run.simulated);
  ASSERT_EQ(run.end - run.first, 3u);
  const StoredReading& latency = read.readings()[run.first];
  EXPECT_EQ(read.text(latency.path), "l2.latency");
  EXPECT_EQ(latency.value, 281.19);
  // An interval must not become narrower.
  EXPECT_LE(static_cast<double>(latency.low), 272.9);
  EXPECT_GE(static_cast<double>(latency.high), 286.4);
  EXPECT_NEAR(static_cast<double>(latency.low), 272.9, 1e-4);
  EXPECT_EQ(read.text(read.readings()[run.first + 1].text), "hashed");
  EXPECT_TRUE(std::isnan(read.readings()[run.first + 2].value));
  EXPECT_EQ(read.text(read.readings()[run.first + 2].reason), "timed_out");
  EXPECT_TRUE(read.has_file("f1"));
  EXPECT_FALSE(read.has_file("f3"));
  EXPECT_EQ(write_store(read), write_store(store));
}

TEST(FleetStore, TakesAtMost20KilobytesForAGpu) {
  Store store;
  constexpr std::size_t kGpus = 300;
  const fleet::Run measured = read_document(report_text(), "node", true).runs.front();
  for (std::size_t gpu = 0; gpu < kGpus; ++gpu) {
    fleet::Run run = measured;
    run.gpu = anonymous_id(std::to_string(gpu));
    run.timestamp = static_cast<std::int64_t>(gpu);
    // All values differ, as in practice, and there are as many instructions as --full measures.
    for (Reading& reading : run.readings) reading.value *= 1 + 0.001 * static_cast<double>(gpu);
    for (int i = 0; i < 200; ++i) {
      run.readings.push_back({.path = "instructions.i" + std::to_string(i) + ".latency",
                              .value = i + 0.01,
                              .low = i + 0.0,
                              .high = i + 0.02,
                              .unit = "cycles",
                              .source = "measured"});
    }
    ASSERT_TRUE(store.add(run, std::to_string(gpu)));
  }
  EXPECT_LT(write_store(store).size() / kGpus, 20'000u);
}

TEST(FleetStore, WhatIsNoStoreSaysSo) {
  Store store;
  ASSERT_TRUE(store.add(some_run("one"), "f"));
  const std::string bytes = write_store(store);
  const auto message = [](const std::string& text) {
    return test::message_of<FormatError>("reading", [&] { (void)read_store(text); });
  };
  EXPECT_THAT(message(""), HasSubstr("does not begin like an Arrow file"));
  EXPECT_THAT(message("{}"), HasSubstr("does not begin like an Arrow file"));
  EXPECT_THAT(message(bytes.substr(0, bytes.size() / 2)), HasSubstr("cut short"));
  arrow::Schema other{.columns = {{"a", arrow::Kind::kDouble}}, .metadata = {}};
  EXPECT_THAT(message(arrow::Writer(other).finish()), HasSubstr("not a fleet store"));
  other.metadata = {{"gputopo_fleet_store", "9"}};
  EXPECT_THAT(message(arrow::Writer(other).finish()), HasSubstr("version 9"));
  other.metadata = {{"gputopo_fleet_store", "1"}};
  EXPECT_THAT(message(arrow::Writer(other).finish()), HasSubstr("column 'report' is missing"));
}

// Changes every byte of a store in turn, which must give an error or another store, and nothing worse.
TEST(FleetStore, DamagedBytesAreErrorsAtMost) {
  Store store;
  ASSERT_TRUE(store.add(some_run("one"), "f"));
  const std::string bytes = write_store(store);
  std::size_t refused = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (const char other : {'\0', '\xff', static_cast<char>(bytes[i] ^ 0x10)}) {
      std::string damaged = bytes;
      damaged[i] = other;
      try {
        (void)read_store(damaged);
      } catch (const FormatError&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, bytes.size() / 10);
}

// The memory for decoding is limited, however often the file names the same bytes.
TEST(FleetStore, ASmallFileTakesLittleMemory) {
  for (const test::StoreBomb bomb : test::kStoreBombs) {
    const std::string bytes = test::store_bomb(bomb);
    ASSERT_LT(bytes.size(), 300'000u);
    const std::string message = test::message_of<FormatError>(std::string(test::name_of(bomb)), [&] {
      arrow::Reader reader(bytes);
      for (std::size_t i = 0; i < reader.batch_count(); ++i) (void)reader.batch(i);
    });
    EXPECT_THAT(message, HasSubstr("would take too much memory")) << test::name_of(bomb);
  }
}

// A whole store of many short texts expands the most.
TEST(FleetStore, LimitsLeaveWhatGputopoWrites) {
  Store store;
  for (int i = 0; i < 30'000; ++i) {
    fleet::Run run{.host = std::to_string(i), .gpu = std::to_string(i), .model = "A"};
    run.readings.push_back({.path = std::to_string(i), .text = std::to_string(i)});
    ASSERT_TRUE(store.add(run, std::to_string(i)));
  }
  EXPECT_EQ(read_store(write_store(store)).readings().size(), 30'000u);
}

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
  for (int gpu = 0; gpu < 8; ++gpu) ASSERT_TRUE(many_values.add(run_with_latencies(gpu, values), "f"));
  EXPECT_THAT(test::message_of<FormatError>("judging", [&] { (void)judge(many_values, 0); }),
              HasSubstr("different values of 'A'"));
  Store sparse;
  for (int gpu = 0; gpu < 20'000; ++gpu) ASSERT_TRUE(sparse.add(run_with_latencies(gpu, {gpu / 10}), "f"));
  EXPECT_THAT(test::message_of<FormatError>("judging", [&] { (void)judge(sparse, 0); }),
              HasSubstr("the GPUs 'A' of the store have too few values in common"));
  Store usual;
  values.resize(500);
  for (int gpu = 0; gpu < 300; ++gpu)
    ASSERT_TRUE(usual.add(run_with_latencies(gpu, gpu < 30 ? values : std::vector{1}), "f"));
  EXPECT_EQ(judge(usual, 0).gpus, 300u);
}

TEST(ArrowTable, HoldsNullsOfEveryKind) {
  const arrow::Schema schema{.columns = {{"text", arrow::Kind::kText, {"a", "b"}},
                                         {"number", arrow::Kind::kDouble},
                                         {"single", arrow::Kind::kSingle},
                                         {"time", arrow::Kind::kTime},
                                         {"flag", arrow::Kind::kFlag}},
                             .metadata = {{"key", "value"}}};
  const arrow::Batch batch = {{.codes = {1, -1, 0}},
                              {.numbers = {1.5, std::nan(""), -2}},
                              {.numbers = {std::nan(""), 0.25, 3}},
                              {.codes = {arrow::kNoTime, 0, 1795623006}},
                              {.codes = {0, 1, 1}}};
  arrow::Writer writer(schema);
  writer.add(batch);
  writer.add(batch);
  const std::string bytes = std::move(writer).finish();
  arrow::Reader reader(bytes);
  EXPECT_EQ(reader.schema(), schema);
  ASSERT_EQ(reader.batch_count(), 2u);
  const arrow::Batch read = reader.batch(1);
  EXPECT_EQ(read[0].codes, batch[0].codes);
  EXPECT_EQ(read[3].codes, batch[3].codes);
  EXPECT_EQ(read[4].codes, batch[4].codes);
  EXPECT_TRUE(std::isnan(read[1].numbers[1]) && std::isnan(read[2].numbers[0]));
  EXPECT_EQ(read[1].numbers[2], -2);
  EXPECT_EQ(read[2].numbers[1], 0.25);
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
    return merge({folder_.path()}, {}, store_, [&](const std::string& problem) { said_.push_back(problem); });
  }
  test::TemporaryFolder folder_;
  Store store_;
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
  EXPECT_EQ(store_.runs().size(), 1u);
}

TEST_F(Merging, ALaterNightIsHistoryOfTheSameGpu) {
  Topology topology = read_json(report_text());
  for (const char* night : {"2026-11-24", "2026-11-25"}) {
    topology.timestamp = std::string(night) + "T03:00:00Z";
    put(std::string(night) + "/node7.json", to_json(topology));
  }
  EXPECT_EQ(merged().added, 2u);
  EXPECT_EQ(store_.runs()[0].gpu, store_.runs()[1].gpu);
}

TEST_F(Merging, AFolderThatIsNotThereIsAnError) {
  EXPECT_THROW((void)merge({folder_.file("none")}, {}, store_, [](const std::string&) {}), FileError);
}

}  // namespace
}  // namespace gputopo::fleet
