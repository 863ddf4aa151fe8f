// `gputopo fleet` as a user runs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "fleet/store_file.h"
#include "gputopo/file.h"
#include "gputopo/report.h"
#include "support/command.h"
#include "support/fleet_model.h"
#include "support/sanitized.h"
#include "support/store_bomb.h"

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
    write_file(folder_.file("s.arrow"), fleet::write_store(model.draw(faults)));
    return quoted(folder_.file("s.arrow"));
  }
  std::string in(const std::string& name) { return quoted(folder_.file(name)); }
  test::TemporaryFolder folder_;
};

TEST_F(CliFleet, MergesWhatIsThereAndSaysWhatIsNot) {
  (void)run_command("cp " GPUTOPO_SOURCE_DIR "/tests/reports/h200.json " + in("a.json") + "; head -c 4000 " +
                    in("a.json") + " > " + in("half.json"));
  const CommandResult merged = fleet("merge " + quoted(folder_.path()) + " --out " + in("s.arrow"));
  EXPECT_EQ(merged.exit_code, 3);
  EXPECT_THAT(merged.err, HasSubstr("left out: '"));
  EXPECT_THAT(merged.err, HasSubstr("half.json': not a gputopo report"));
  EXPECT_THAT(merged.out, HasSubstr("2 files, 1 new runs, 0 already known, 1 problems; the store has 1 runs"));
  const CommandResult again = fleet("merge --resume " + quoted(folder_.path()) + " --out " + in("s.arrow"));
  EXPECT_THAT(again.out, HasSubstr("0 new runs, 1 already known"));
  const CommandResult report = fleet("report " + in("s.arrow"));
  EXPECT_EQ(report.exit_code, 3) << "nothing is known of a GPU without others and without links";
  EXPECT_THAT(report.out, HasSubstr("1 GPU; too few GPUs"));
  EXPECT_EQ(fleet("report --allow-not-judged " + in("s.arrow")).exit_code, 0);
}

// A fleet of real GPUs accepts simulated ones only on request, in whatever order they come.
TEST_F(CliFleet, SimulatedGpusDoNotJoinRealOnes) {
  const std::string real = quoted(GPUTOPO_SOURCE_DIR "/tests/reports/h200.json");
  const std::string simulated = quoted(GPUTOPO_SOURCE_DIR "/tests/reports/mi300x.json");
  const std::string to_store = " --out " + in("s.arrow");
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
    commands += GPUTOPO_BINARY " fleet merge --resume " + in(name) + " --out " + in("s.arrow") + " || echo failed & ";
  }
  const CommandResult merged = run_command(commands + "wait");
  EXPECT_THAT(merged.out, testing::Not(HasSubstr("failed"))) << merged.err;
  EXPECT_EQ(fleet::read_store(read_file(folder_.file("s.arrow"))).runs().size(), kMerges);
}

TEST_F(CliFleet, AStoreThatIsBeingMergedIsWaitedForWithALimit) {
  write_file(folder_.file(".s.arrow.lock"), "");
  const CommandResult merged = run_command(
      "flock " + in(".s.arrow.lock") + " env GPUTOPO_PATIENCE=0.2 " GPUTOPO_BINARY " fleet merge --resume " +
      quoted(GPUTOPO_SOURCE_DIR "/tests/reports/h200.json") + " --out " + in("s.arrow"));
  EXPECT_EQ(merged.exit_code, 1);
  EXPECT_THAT(merged.err,
              testing::MatchesRegex("gputopo: waiting for another process that is changing '.*s.arrow'\n"
                                    "gputopo: error: another process has held the lock on '.*s.arrow' for .*\n"));
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
                              in("copy") + " fleet merge " + quoted(folder_.path()) + " --out " + in("s.arrow");
  const CommandResult merged = run_command(command);
  EXPECT_EQ(merged.exit_code, 3) << merged.err;
  EXPECT_THAT(merged.err,
              testing::StartsWith("gputopo: left out: cannot read '" + folder_.file("shut") + "': Permission denied"));
  EXPECT_THAT(merged.out, HasSubstr("1 files, 1 new runs, 0 already known, 1 problems"));
}

// A store of 200 KB that refers to its bytes many times, with an address space of about twice gputopo's own need.
TEST_F(CliFleet, AStoreThatExpandsIsRefusedInOneLine) {
  using test::StoreBomb;
  for (const StoreBomb bomb : {StoreBomb::kMetadata, StoreBomb::kNames, StoreBomb::kDictionary, StoreBomb::kColumns}) {
    write_file(folder_.file("bomb"), test::store_bomb(bomb));
    // Sanitizers reserve more address space than they use.
    const std::string limit = test::kSanitized ? "" : "ulimit -v 400000; ";
    const CommandResult report = run_command(limit + GPUTOPO_BINARY " fleet report " + in("bomb"));
    EXPECT_EQ(report.exit_code, 1);
    EXPECT_EQ(report.err, "gputopo: error: '" + folder_.file("bomb") +
                              "': the store refers to the same bytes many times and would take too much memory; give "
                              "a store written by 'gputopo fleet merge'\n")
        << test::name_of(bomb);
  }
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
  EXPECT_THAT(fleet("report " + store({}) + " --html " + in("s.arrow")).err, HasSubstr("is the store"));
  EXPECT_THAT(fleet("report " + in("s.arrow") + " --html - --csv -").err, HasSubstr("only one format"));
  EXPECT_THAT(fleet("report " + in("s.arrow") + " --html " + in("x") + " --csv " + in("x")).err,
              HasSubstr("two outputs"));
  EXPECT_THAT(fleet("merge " + in("none") + " --out " + in("o")).err, HasSubstr("none'"));
  EXPECT_THAT(run_command(GPUTOPO_BINARY " --json x fleet report y").err, HasSubstr("does not apply to 'fleet'"));
}

}  // namespace
}  // namespace gputopo
