// The store as a database: what is kept, what is not stored again, and files that are no stores or claim too much.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "fleet/arrow_import.h"
#include "fleet/judgement.h"
#include "fleet/store_file.h"
#include "fleet/store_reader.h"
#include "fleet/stored_value.h"
#include "gputopo/file.h"
#include "support/command.h"
#include "support/message_of.h"

namespace gputopo::fleet {
namespace {

using sqlite::Access;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kDay = 86400;

fleet::Run some_run(const std::string& gpu, std::int64_t timestamp = 5) {
  return {
      .host = "h",
      .gpu = gpu,
      .name = "node7 " + gpu,
      .model = "A",
      .timestamp = timestamp,
      .simulated = true,
      .readings = {
          {.path = "l2.latency", .value = 281.19, .low = 272.9, .high = 286.4, .unit = "cycles", .source = "measured"},
          {.path = "l2.index", .source = "measured", .text = "hashed"},
          {.path = "l2.slices", .source = "unavailable", .reason = "timed_out"}}};
}

class StoreFiles : public testing::Test {
 protected:
  void add(const std::vector<fleet::Run>& runs) {
    StoreFile store(path_, Access::kCreate, {});
    for (const fleet::Run& run : runs) ASSERT_TRUE(store.add(run, 1, id_of_run(run)));
    store.commit();
  }
  [[nodiscard]] Store read() const { return read_store(path_, 0, {}); }
  // Queries all columns of all rows, as another program would.
  std::vector<std::string> query(const std::string& sql) {
    sqlite3* database = nullptr;
    EXPECT_EQ(sqlite3_open(path_.c_str(), &database), SQLITE_OK);
    std::vector<std::string> rows;
    const auto take = [](void* to, int count, char** values, char**) {
      std::string row;
      for (int i = 0; i < count; ++i) row += (i > 0 ? "|" : "") + std::string(values[i] != nullptr ? values[i] : "");
      static_cast<std::vector<std::string>*>(to)->push_back(row);
      return 0;
    };
    EXPECT_EQ(sqlite3_exec(database, sql.c_str(), take, &rows, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
    sqlite3_close(database);
    return rows;
  }
  std::string refusal() {
    return test::message_of<StoreError>("reading", [&] { (void)read(); });
  }
  test::TemporaryFolder folder_;
  std::string path_ = folder_.file("s.db");
};

TEST_F(StoreFiles, AreReadAsTheyWereWritten) {
  add({some_run("one"), some_run("two")});
  const Store read = this->read();
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
  EXPECT_LE(static_cast<double>(latency.low), 272.9);
  EXPECT_GE(static_cast<double>(latency.high), 286.4);
  EXPECT_NEAR(static_cast<double>(latency.low), 272.9, 1e-3);
  EXPECT_EQ(read.text(read.readings()[run.first + 1].text), "hashed");
  EXPECT_TRUE(std::isnan(read.readings()[run.first + 2].value));
  EXPECT_EQ(read.text(read.readings()[run.first + 2].reason), "timed_out");
}

TEST_F(StoreFiles, TheSameContentIsAddedOnce) {
  StoreFile store(path_, Access::kCreate, {});
  EXPECT_TRUE(store.add(some_run("one"), 1, id_of_run(some_run("one"))));
  EXPECT_FALSE(store.add(some_run("one"), 2, id_of_run(some_run("one"))));
  EXPECT_FALSE(store.has_file(1));
  store.add_file(1);
  EXPECT_TRUE(store.has_file(1));
}

// Intervals are kept in few bytes, but never become narrower.
TEST(StoredValues, BoundsAreRoundedOutward) {
  for (const double value : {281.19, -3.5, 1e300, 5e-324, 0.0, 4.7e12}) {
    for (const double part : {0.0, 1e-12, 1e-7, 1e-5, 0.001, 0.03, 0.5, 2.0, 100.0}) {
      for (const Side side : {Side::kLow, Side::kHigh}) {
        const double sign = static_cast<double>(side);
        const double bound = value + sign * (std::abs(value) * part);
        const double stored = from_stored(to_stored(bound, value, side), value, side);
        EXPECT_GE(sign * (stored - bound), 0) << value << " " << part;
        EXPECT_LE(sign * (stored - bound), 2e-6 * std::abs(value)) << value << " " << part;
      }
    }
  }
  EXPECT_TRUE(std::isnan(from_stored(to_stored(std::nan(""), 1, Side::kLow), 1, Side::kLow)));
  // A bound on the wrong side, as only a file can have it.
  EXPECT_EQ(from_stored(to_stored(3, 1, Side::kLow), 1, Side::kLow), 3);
}

TEST_F(StoreFiles, AValueThatDidNotChangeIsNotStoredAgain) {
  std::vector<fleet::Run> runs;
  for (const double value : {1.0, 1.0, 2.0, 1.0, 1.0, 1.0}) {
    runs.push_back(some_run("one", static_cast<std::int64_t>(runs.size()) * kDay));
    runs.back().readings.front().value = value;
  }
  add(runs);
  // Once for two runs, once for one, once for three; the texts once for all.
  EXPECT_THAT(query("SELECT value FROM changing"), ElementsAre("2.0"));
  EXPECT_THAT(query("SELECT first, last, value FROM lasting ORDER BY quantity, first"),
              ElementsAre("1|2|1.0", "4|6|1.0", "1|6|", "1|6|"));
  EXPECT_THAT(query("SELECT run, value, time FROM readings WHERE path = 'l2.latency' ORDER BY run"),
              ElementsAre("1|1.0|1970-01-01T00:00:00Z", "2|1.0|1970-01-02T00:00:00Z", "3|2.0|1970-01-03T00:00:00Z",
                          "4|1.0|1970-01-04T00:00:00Z", "5|1.0|1970-01-05T00:00:00Z", "6|1.0|1970-01-06T00:00:00Z"));
  EXPECT_THAT(query("SELECT count(*) FROM readings"), ElementsAre("18"));
  const Store read = this->read();
  for (std::size_t i = 0; i < 6; ++i) {
    // Only numbers and verdicts of earlier runs are read.
    ASSERT_EQ(read.runs()[i].end - read.runs()[i].first, i == 5 ? 3u : 1u);
    EXPECT_EQ(read.readings()[read.runs()[i].first].value, runs[i].readings.front().value);
  }
}

TEST_F(StoreFiles, TheViewsShowWhatAPersonAsksFor) {
  add({some_run("one", 0), some_run("one", kDay), some_run("two", 0)});
  EXPECT_THAT(query("SELECT host, gpu, name, model, driver, path, value, round(low, 1), round(high, 1), unit, source, "
                    "reason, text, time FROM latest ORDER BY gpu, path"),
              ElementsAre("h|one|node7 one|A||l2.index|||||measured||hashed|1970-01-02T00:00:00Z",
                          "h|one|node7 one|A||l2.latency|281.19|272.9|286.4|cycles|measured|||1970-01-02T00:00:00Z",
                          "h|one|node7 one|A||l2.slices|||||unavailable|timed_out||1970-01-02T00:00:00Z",
                          "h|two|node7 two|A||l2.index|||||measured||hashed|1970-01-01T00:00:00Z",
                          "h|two|node7 two|A||l2.latency|281.19|272.9|286.4|cycles|measured|||1970-01-01T00:00:00Z",
                          "h|two|node7 two|A||l2.slices|||||unavailable|timed_out||1970-01-01T00:00:00Z"));
}

// 365 nights of 10,000 GPUs with 100 values each stay under 20 GB with 54 bytes for each value.
TEST_F(StoreFiles, AValueTakes35Bytes) {
  std::vector<fleet::Run> runs;
  constexpr int kGpus = 20;
  constexpr int kNights = 30;
  constexpr int kValues = 100;
  for (int night = 0; night < kNights; ++night) {
    for (int gpu = 0; gpu < kGpus; ++gpu) {
      fleet::Run run = some_run(std::to_string(gpu), night * kDay);
      for (int i = 0; i < kValues; ++i) {
        const double value = 100 * (i + 1) + 0.001 * night + 0.37 * gpu;
        run.readings.push_back({.path = "p" + std::to_string(i),
                                .value = value,
                                .low = 0.98 * value,
                                .high = 1.01 * value,
                                .unit = "cycles",
                                .source = "measured"});
      }
      runs.push_back(run);
    }
  }
  add(runs);
  EXPECT_LT(std::filesystem::file_size(path_), 35 * kNights * kGpus * kValues);
}

TEST_F(StoreFiles, AJudgementReadsTheNewestRunsAndTheRecentPast) {
  std::vector<fleet::Run> runs;
  for (int night = 0; night < 100; ++night) {
    runs.push_back(some_run("one", night * kDay));
    runs.back().readings.front().value = night;
  }
  runs.push_back(some_run("old", 0));
  add(runs);
  const Store read = read_store(path_, 1000 * kDay, {});
  // 41 nights within 40 days, and the newest run of the other GPU.
  EXPECT_EQ(read.runs().size(), 42u);
  EXPECT_EQ(read.readings().size(), 3u * 2 + 7);
  EXPECT_EQ(read.readings()[read.runs()[40].first].value, 99);
}

// ---- Forgetting, and reports ----

TEST_F(StoreFiles, WhatIsForgottenLeavesTheValuesOfLaterRuns) {
  std::vector<fleet::Run> runs;
  for (int night = 0; night < 4; ++night) {
    runs.push_back(some_run("one", night * kDay));
    runs.back().readings.front().value = night;
  }
  runs.push_back(some_run("gone", kDay));
  runs.push_back(some_run("late", -kDay));  // merged last, but the oldest
  add(runs);
  {
    StoreFile store(path_, Access::kWrite, {});
    const Forgotten forgotten = store.forget(2 * kDay);
    EXPECT_EQ(forgotten.runs, 4);
    EXPECT_EQ(store.run_count(), 2);
  }
  EXPECT_THAT(
      query("SELECT gpu, time, value, text FROM readings ORDER BY run, path"),
      ElementsAre("one|1970-01-03T00:00:00Z||hashed", "one|1970-01-03T00:00:00Z|2.0|", "one|1970-01-03T00:00:00Z||",
                  "one|1970-01-04T00:00:00Z||hashed", "one|1970-01-04T00:00:00Z|3.0|", "one|1970-01-04T00:00:00Z||"));
  EXPECT_THAT(query("SELECT count(*) FROM lasting"), ElementsAre("2"));
  // Ids of forgotten runs are not given again, so nothing that lasted until one of them comes back.
  add({some_run("late", 5 * kDay)});
  EXPECT_THAT(query("SELECT count(*) FROM readings WHERE gpu = 'late'"), ElementsAre("3"));
}

TEST_F(StoreFiles, ReportsAreKeptForSomeDays) {
  {
    StoreFile store(path_, Access::kCreate, {});
    for (const std::int64_t day : {1, 2, 3}) {
      ASSERT_TRUE(store.add(some_run("one", day * kDay), day, day));
      store.keep_document(day, day * kDay, "report of day " + std::to_string(day));
    }
    store.drop_documents(3 * kDay);
    store.commit();
  }
  EXPECT_EQ(read_newest_report(path_, "one", {}), "report of day 3");
  EXPECT_EQ(read_newest_report(path_, "node7 one", {}), "report of day 3");
  EXPECT_THAT(query("SELECT count(*) FROM documents"), ElementsAre("1"));
  EXPECT_THAT(test::message_of<StoreError>("reading", [&] { (void)read_newest_report(path_, "two", {}); }),
              HasSubstr("has no report of 'two'"));
}

// ---- Files that are no stores ----

TEST_F(StoreFiles, WhatIsNoStoreSaysSo) {
  const auto refusal_of = [&](const std::string& bytes) {
    write_file(path_, bytes);
    return refusal();
  };
  EXPECT_THAT(refusal_of(""), HasSubstr("not a fleet store"));
  EXPECT_THAT(refusal_of("{}"), HasSubstr("not a fleet store"));
  EXPECT_THAT(refusal_of("ARROW1 and so on"), HasSubstr("import it with 'gputopo fleet merge --resume"));
  std::filesystem::remove(path_);
  query("CREATE TABLE t (a)");
  EXPECT_THAT(refusal(), HasSubstr("a database, but not a fleet store"));
}

TEST_F(StoreFiles, ANewerVersionAndAnotherSchemaAreRefused) {
  add({some_run("one")});
  query("PRAGMA user_version = 2");
  EXPECT_THAT(refusal(), HasSubstr("the store has version 2, and this gputopo reads versions up to 1: use a newer"));
  query("PRAGMA user_version = 1; ANALYZE");
  EXPECT_EQ(read().runs().size(), 1u);
  query("CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM runs; END");
  EXPECT_THAT(refusal(), HasSubstr("trigger t does not belong to a store: drop it"));
  query("DROP TRIGGER t; CREATE TABLE own (a)");
  EXPECT_THAT(refusal(), HasSubstr("table own does not belong"));
  query("DROP TABLE own; DROP VIEW latest; CREATE VIEW latest AS SELECT 1");
  EXPECT_THAT(refusal(), HasSubstr("view latest differs from that of a store"));
  query("DROP VIEW latest");
  EXPECT_THAT(refusal(), HasSubstr("view latest is missing"));
}

std::string big_store(const std::string& path) {
  StoreFile store(path, Access::kCreate, {});
  for (int gpu = 0; gpu < 300; ++gpu) {
    fleet::Run run = some_run(std::to_string(gpu));
    for (int i = 0; i < 60; ++i) run.readings.push_back({.path = "p" + std::to_string(i), .value = 0.1 * i * gpu});
    (void)store.add(run, gpu, gpu);
  }
  store.commit();
  return read_file(path);
}

// Changes bytes of a store in turn, which must give an error or another store, and nothing worse.
TEST_F(StoreFiles, DamagedBytesAreErrorsAtMost) {
  const std::string bytes = big_store(path_);
  std::size_t refused = 0;
  constexpr std::size_t kPage = 4096;
  for (std::size_t i = 0; i < bytes.size(); i += i % kPage < 16 || i < 200 ? 3 : 2003) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(bytes[i] ^ 0x15);
    write_file(path_, damaged);
    try {
      (void)read();
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 30u);
}

// A page above itself, or many pages above the same one, is a store of endless size in a small file.
TEST_F(StoreFiles, PagesThatContainThemselvesAreRefused) {
  const std::string bytes = big_store(path_);
  constexpr std::size_t kPage = 4096;
  int refused = 0;
  for (std::size_t page = 1; page < bytes.size() / kPage; ++page) {
    const char type = bytes[page * kPage];
    if (type != 2 && type != 5) continue;  // the inner pages of indices and tables
    const auto number = [&](std::size_t at) {
      return static_cast<unsigned char>(bytes[at]) * 256U + static_cast<unsigned char>(bytes[at + 1]);
    };
    const std::size_t begin = page * kPage;
    for (const bool is_itself : {true, false}) {
      std::string hostile = bytes;
      const std::string child =
          is_itself ? std::string{'\0', '\0', static_cast<char>((page + 1) / 256), static_cast<char>((page + 1) % 256)}
                    : bytes.substr(begin + 8, 4);
      hostile.replace(begin + 8, 4, child);
      for (std::size_t cell = 0; cell < number(begin + 3); ++cell) {
        hostile.replace(begin + number(begin + 12 + 2 * cell), 4, child);
      }
      write_file(path_, hostile);
      try {
        (void)read();  // of an index that no judgement reads
      } catch (const StoreError& error) {
        EXPECT_THAT(error.what(), HasSubstr("damaged"));
        ++refused;
      }
    }
  }
  EXPECT_GE(refused, 2);
}

// ---- Stores of the format before SQLite ----

std::string arrow_store() { return read_file(GPUTOPO_SOURCE_DIR "/tests/fixtures/fleet.arrow"); }

TEST(ArrowImport, ReadsAllRuns) {
  std::vector<fleet::Run> runs;
  std::vector<std::string> reports;
  read_arrow_store(arrow_store(), [&](const fleet::Run& run, std::string_view report, std::string_view) {
    runs.push_back(run);
    reports.emplace_back(report);
  });
  ASSERT_EQ(runs.size(), 40u);
  EXPECT_EQ(runs.front().model, "NVIDIA H200");
  EXPECT_TRUE(runs.front().simulated);
  ASSERT_GE(runs.front().readings.size(), 3u);
  EXPECT_EQ(runs.front().readings.front().path, "l2.size");
  EXPECT_EQ(runs.front().readings.front().value, 60 << 20);
  EXPECT_EQ(reports.front().size(), 16u);
}

TEST(ArrowImport, DamagedBytesAreErrorsAtMost) {
  const std::string bytes = arrow_store();
  std::size_t refused = 0;
  for (std::size_t i = 0; i < bytes.size(); i += 7) {
    for (const char other : {'\0', '\xff', static_cast<char>(bytes[i] ^ 0x10)}) {
      std::string damaged = bytes;
      damaged[i] = other;
      try {
        read_arrow_store(damaged, [](const fleet::Run&, std::string_view, std::string_view) {});
      } catch (const FormatError&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, bytes.size() / 100);
  for (std::size_t size = 6; size < bytes.size(); size += 1000) {
    EXPECT_THROW(read_arrow_store(bytes.substr(0, size), [](const auto&...) {}), FormatError);
  }
}

}  // namespace
}  // namespace gputopo::fleet
