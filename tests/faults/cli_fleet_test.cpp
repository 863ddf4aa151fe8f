// `gputopo fleet` as a user runs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "fleet/store_file.h"
#include "fleet/store_reader.h"
#include "gputopo/file.h"
#include "gputopo/report.h"
#include "support/command.h"
#include "support/fleet_model.h"
#include "support/sanitized.h"

namespace gputopo {
namespace {

using test::CommandResult;
using test::quoted;
using test::run_command;
using testing::HasSubstr;

class CliFleet : public testing::Test {
 protected:
  CommandResult fleet(const std::string& arguments) { return run_command(GPUTOPO_BINARY " fleet " + arguments); }
  // A store of a drawn fleet.
  std::string store(const std::vector<test::PlantedFault>& faults) {
    test::FleetModel model({.gpus = 100}, 31);
    fleet::StoreFile file(folder_.file("s.db"), fleet::sqlite::Access::kCreate, {});
    file.clear();
    model.draw_runs(faults, [&](const fleet::Run& run) { (void)file.add(run, 1, fleet::id_of_run(run)); });
    file.commit();
    return quoted(folder_.file("s.db"));
  }
  std::string in(const std::string& name) { return quoted(folder_.file(name)); }
  test::TemporaryFolder folder_;
};

TEST_F(CliFleet, MergesWhatIsThereAndSaysWhatIsNot) {
  (void)run_command("cp " GPUTOPO_SOURCE_DIR "/tests/reports/h200.json " + in("a.json") + "; head -c 4000 " +
                    in("a.json") + " > " + in("half.json"));
  const CommandResult merged = fleet("merge " + quoted(folder_.path()) + " --out " + in("s.db"));
  EXPECT_EQ(merged.exit_code, 3);
  EXPECT_THAT(merged.err, HasSubstr("skipped: '"));
  EXPECT_THAT(merged.err, HasSubstr("half.json': not a gputopo report"));
  EXPECT_THAT(merged.out, HasSubstr("2 files, 1 new runs, 0 already known, 1 problems; the store has 1 runs"));
  const CommandResult again = fleet("merge --resume " + quoted(folder_.path()) + " --out " + in("s.db"));
  EXPECT_THAT(again.out, HasSubstr("0 new runs, 1 already known"));
  const CommandResult report = fleet("report " + in("s.db"));
  EXPECT_EQ(report.exit_code, 3) << "nothing is known of a GPU without others and without links";
  EXPECT_THAT(report.out, HasSubstr("1 GPU; too few GPUs"));
  EXPECT_EQ(fleet("report --allow-not-judged " + in("s.db")).exit_code, 0);
}

// A fleet of real GPUs accepts simulated ones only on request, in whatever order they come.
TEST_F(CliFleet, SimulatedGpusDoNotJoinRealOnes) {
  const std::string real = quoted(GPUTOPO_SOURCE_DIR "/tests/reports/h200.json");
  const std::string simulated = quoted(GPUTOPO_SOURCE_DIR "/tests/reports/mi300x.json");
  const std::string to_store = " --out " + in("s.db");
  for (const std::string& both : {real + " " + simulated, simulated + " " + real}) {
    const CommandResult merged = fleet("merge " + both + to_store);
    EXPECT_EQ(merged.exit_code, 3);
    EXPECT_THAT(merged.err, HasSubstr("mi300x.json': the GPU is simulated, and the store has real ones; --simulated"));
    EXPECT_THAT(merged.out, HasSubstr("the store has 1 runs"));
  }
  EXPECT_THAT(fleet("merge --resume " + simulated + to_store).out, HasSubstr("0 new runs"));
  EXPECT_EQ(fleet("merge --simulated --resume " + simulated + to_store).exit_code, 0);
  const CommandResult alone = fleet("merge " + simulated + to_store);
  EXPECT_EQ(alone.exit_code, 0) << alone.err;
  EXPECT_THAT(alone.out, HasSubstr("1 new runs"));
}

// All merges begin with the same store, and none may lose what the others add.
TEST_F(CliFleet, MergesAtTheSameTimeLoseNothing) {
  Topology topology = read_json(read_file(GPUTOPO_SOURCE_DIR "/tests/reports/h200.json"));
  std::string commands;
  constexpr int kMerges = 4;
  for (int i = 0; i < kMerges; ++i) {
    const std::string name = std::to_string(i) + ".json";
    topology.timestamp = "2026-11-2" + std::to_string(i) + "T03:00:00Z";
    write_file(folder_.file(name), to_json(topology));
    commands += GPUTOPO_BINARY " fleet merge --resume " + in(name) + " --out " + in("s.db") + " || echo failed & ";
  }
  const CommandResult merged = run_command(commands + "wait");
  EXPECT_THAT(merged.out, testing::Not(HasSubstr("failed"))) << merged.err;
  EXPECT_EQ(fleet::read_store(folder_.file("s.db"), 0, {}).runs().size(), kMerges);
}

TEST_F(CliFleet, AStoreThatIsBeingMergedIsWaitedForWithALimit) {
  fleet::StoreFile other(folder_.file("s.db"), fleet::sqlite::Access::kCreate, {});
  const CommandResult merged =
      run_command("env GPUTOPO_PATIENCE=0.2 " GPUTOPO_BINARY " fleet merge --resume " +
                  quoted(GPUTOPO_SOURCE_DIR "/tests/reports/h200.json") + " --out " + in("s.db"));
  EXPECT_EQ(merged.exit_code, 1);
  EXPECT_THAT(merged.err,
              testing::MatchesRegex("gputopo: waiting for another process that is changing '.*s.db'\n"
                                    "gputopo: error: another process has held the lock on '.*s.db' for .*\n"));
}

// Whatever a merge had committed is there after it was killed, and the next one goes on from there.
TEST_F(CliFleet, AKilledMergeLosesNothingThatWasCommitted) {
  EXPECT_EQ(fleet("merge " + quoted(GPUTOPO_SOURCE_DIR "/tests/reports/h200.json") + " --out " + in("s.db")).exit_code,
            0);
  const std::string before = fleet("report --json - " + in("s.db")).out;
  (void)run_command("mkdir " + in("new"));
  Topology topology = read_json(read_file(GPUTOPO_SOURCE_DIR "/tests/reports/h200.json"));
  constexpr int kReports = 20;
  for (int i = 0; i < kReports; ++i) {
    topology.name += "x";
    write_file(folder_.file("new/" + std::to_string(i) + ".json"), to_json(topology));
  }
  const std::string merge = GPUTOPO_BINARY " fleet merge --resume " + in("new") + " --out " + in("s.db");
  bool was_within_transaction = false;
  // A sanitizer makes merges ten times as slow.
  constexpr double kMostSeconds = 5;
  for (double seconds = 0.1; seconds < kMostSeconds && !was_within_transaction; seconds *= 1.05) {
    const CommandResult killed = run_command("timeout -s KILL " + std::to_string(seconds) + " " + merge);
    was_within_transaction = killed.exit_code != 0 && std::filesystem::exists(folder_.file("s.db-journal"));
    if (killed.exit_code == 0) break;
  }
  EXPECT_TRUE(was_within_transaction);
  EXPECT_EQ(fleet("report --json - " + in("s.db")).out, before);
  EXPECT_THAT(run_command(merge).out, HasSubstr(std::to_string(kReports) + " new runs"));
}

// The file has parts of a transaction that never ended, and the journal has what they replaced.
TEST_F(CliFleet, AMergeUndoesAnUnfinishedTransaction) {
  const std::string name = store({});
  const std::string before = fleet("report --json - " + name).out;
  (void)run_command(
      "printf 'PRAGMA cache_size = 2;\\nBEGIN;\\nUPDATE changing SET value = 7;\\n.shell kill -9 $PPID\\n' | "
      "sqlite3 " +
      name);
  EXPECT_THAT(fleet("report " + name).err, HasSubstr("a merge was interrupted; 'gputopo fleet merge --resume' undoes"));
  EXPECT_THAT(fleet("forget --before 2000-01-01 " + name).out, HasSubstr("0 runs and 0 reports"));
  EXPECT_EQ(fleet("report --json - " + name).out, before);
}

TEST_F(CliFleet, OldStoresAreImportedOnce) {
  const std::string old = quoted(GPUTOPO_SOURCE_DIR "/tests/fixtures/fleet.arrow");
  const CommandResult wrong = fleet("report " + old);
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_THAT(wrong.err, HasSubstr("is a store of an older gputopo: import it with 'gputopo fleet merge --resume"));
  const CommandResult onto =
      fleet("merge --resume " + quoted(GPUTOPO_SOURCE_DIR "/tests/reports/h200.json") + " --out " + old);
  EXPECT_THAT(onto.err, HasSubstr("is a store of an older gputopo"));
  const std::string import = "merge --simulated --resume " + old + " --out " + in("s.db");
  EXPECT_THAT(fleet(import).out, HasSubstr("1 files, 40 new runs"));
  EXPECT_THAT(fleet(import).out, HasSubstr("1 files, 0 new runs, 1 already known"));
  EXPECT_THAT(fleet("report " + in("s.db")).out, HasSubstr("40 GPUs"));
}

TEST_F(CliFleet, HostNamesAndReportsStayOutOfAnAnonymousStore) {
  (void)run_command("mkdir " + in("secret-host") + "; cp " GPUTOPO_SOURCE_DIR "/tests/reports/h200.json " +
                    in("secret-host/secret-gpu.json"));
  const auto names = [&](const std::string& options) {
    EXPECT_EQ(fleet("merge " + options + in("secret-host") + " --out " + in("s.db")).exit_code, 0);
    return read_file(folder_.file("s.db")).find("secret") != std::string::npos;
  };
  EXPECT_TRUE(names("--names --keep-reports 30000 "));  // as without the option
  EXPECT_THAT(fleet("document " + in("s.db") + " secret-gpu").out,
              read_file(GPUTOPO_SOURCE_DIR "/tests/reports/h200.json"));
  EXPECT_FALSE(names("--anonymous --keep-reports 30000 "));
  EXPECT_EQ(run_command("sqlite3 " + in("s.db") + " 'SELECT count(*) FROM documents'").out, "0\n");
  EXPECT_THAT(fleet("document " + in("s.db") + " secret-gpu").err,
              HasSubstr("has no report of 'secret-gpu': check the name"));
}

TEST_F(CliFleet, WhatIsOlderThanADateIsForgotten) {
  Topology topology = read_json(read_file(GPUTOPO_SOURCE_DIR "/tests/reports/h200.json"));
  for (const char* night : {"2026-11-24", "2026-11-25"}) {
    topology.timestamp = std::string(night) + "T03:00:00Z";
    write_file(folder_.file(night + std::string(".json")), to_json(topology));
  }
  EXPECT_EQ(fleet("merge --keep-reports 30000 " + quoted(folder_.path()) + " --out " + in("s.db")).exit_code, 0);
  EXPECT_THAT(fleet("forget " + in("s.db") + " --before 2026-11-25").out,
              HasSubstr("removed 1 runs and 1 reports from before 2026-11-25T00:00:00Z, kept 1 runs"));
  EXPECT_THAT(fleet("forget " + in("s.db") + " --before yesterday").err, HasSubstr("not a date; give one like"));
  EXPECT_EQ(fleet("forget " + in("none.db") + " --before 2026-11-25").exit_code, 1);
  EXPECT_FALSE(std::filesystem::exists(folder_.file("none.db")));
}

TEST_F(CliFleet, AFolderThatMayNotBeReadIsNamedAndLeftOut) {
  if (geteuid() == 0 && run_command("setpriv --reuid=65534 --regid=65534 --clear-groups true").exit_code != 0) {
    GTEST_SKIP() << "root reads every folder, and setpriv is not there to be another user";
  }
  (void)run_command("cd " + quoted(folder_.path()) +
                    "; chmod 777 .; mkdir open shut; cp " GPUTOPO_SOURCE_DIR
                    "/tests/reports/h200.json open/a.json; cp open/a.json shut; chmod a+r open/a.json; chmod 0 shut");
  const std::string command = "cp " GPUTOPO_BINARY " " + in("copy") + "; " +
                              (geteuid() == 0 ? "setpriv --reuid=65534 --regid=65534 --clear-groups " : std::string()) +
                              in("copy") + " fleet merge " + quoted(folder_.path()) + " --out " + in("s.db");
  const CommandResult merged = run_command(command);
  EXPECT_EQ(merged.exit_code, 3) << merged.err;
  EXPECT_THAT(merged.err,
              testing::StartsWith("gputopo: skipped: cannot read '" + folder_.file("shut") + "': Permission denied"));
  EXPECT_THAT(merged.out, HasSubstr("1 files, 1 new runs, 0 already known, 1 problems"));
}

// A text of 300 MB, is not read into memory.
TEST_F(CliFleet, AStoreIsJudgedInBoundedMemory) {
  const std::string name = store({});
  const CommandResult made =
      run_command("sqlite3 " + name + " 'UPDATE runs SET driver = CAST(zeroblob(300000000) AS TEXT) WHERE id = 5'");
  ASSERT_EQ(made.exit_code, 0) << made.err;
  // Sanitizers reserve more address space than they use.
  const std::string limit = test::kSanitized ? "" : "ulimit -v 700000; ";
  const CommandResult report = run_command(limit + GPUTOPO_BINARY " fleet report " + name);
  EXPECT_EQ(report.exit_code, 1);
  EXPECT_THAT(report.err, HasSubstr("reading the store takes more time or memory than its size explains"));
}

TEST_F(CliFleet, AnOddGpuIsExitCode1AndInEveryFile) {
  const std::string arguments = store({{7, test::FleetFault::kSlowMemory, 10}}) + " --html " + in("a.html") +
                                " --csv " + in("a.csv") + " --json " + in("a.json") + " --prometheus " + in("a.prom");
  const CommandResult report = fleet("report " + arguments);
  EXPECT_EQ(report.exit_code, 1);
  EXPECT_THAT(report.out, HasSubstr("outlier: gpu00007 on host host0000: device memory: worse"));
  for (const char* name : {"a.html", "a.csv", "a.json", "a.prom"}) {
    EXPECT_THAT(read_file(folder_.file(name)), HasSubstr("gpu00007")) << name;
  }
}

TEST_F(CliFleet, NothingOddIsExitCode0) {
  const CommandResult report = fleet("report " + store({}) + " --json -");
  EXPECT_EQ(report.exit_code, 0);
  EXPECT_THAT(report.out, HasSubstr("\"ok\": true"));
  EXPECT_THAT(report.out, testing::Not(HasSubstr("group:")));
}

TEST_F(CliFleet, WhatIsNoStoreIsSaidToTheCollectorToo) {
  write_file(folder_.file("bad"), "no store");
  const CommandResult report = fleet("report " + in("bad") + " --prometheus " + in("a.prom"));
  EXPECT_EQ(report.exit_code, 1);
  EXPECT_THAT(report.err, HasSubstr("bad': not a fleet store"));
  EXPECT_THAT(read_file(folder_.file("a.prom")), HasSubstr("gputopo_fleet_ok 0"));
}

TEST_F(CliFleet, WrongCommandLinesSayWhatToDo) {
  EXPECT_EQ(fleet("").exit_code, 2);
  EXPECT_EQ(fleet("merge " + quoted(folder_.path())).exit_code, 2);
  EXPECT_THAT(fleet("report " + store({}) + " --html " + in("s.db")).err, HasSubstr("is the store"));
  EXPECT_THAT(fleet("report " + in("s.db") + " --html - --csv -").err, HasSubstr("only one format"));
  EXPECT_THAT(fleet("report " + in("s.db") + " --html " + in("x") + " --csv " + in("x")).err, HasSubstr("two outputs"));
  EXPECT_THAT(fleet("merge " + in("none") + " --out " + in("o")).err, HasSubstr("none'"));
  EXPECT_THAT(run_command(GPUTOPO_BINARY " --json x fleet report y").err, HasSubstr("does not apply to 'fleet'"));
}

}  // namespace
}  // namespace gputopo
