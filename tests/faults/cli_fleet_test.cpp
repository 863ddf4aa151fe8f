// `gputopo fleet`, as a user types it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "fleet/store.h"
#include "gputopo/file.h"
#include "support/command.h"
#include "support/fleet_model.h"

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
  EXPECT_THAT(merged.out, HasSubstr("2 files, 1 new runs, 0 known already, 1 problems; the store has 1 runs"));
  const CommandResult again = fleet("merge --resume " + quoted(folder_.path()) + " --out " + in("s.arrow"));
  EXPECT_THAT(again.out, HasSubstr("0 new runs, 1 known already"));
  const CommandResult report = fleet("report " + in("s.arrow"));
  EXPECT_EQ(report.exit_code, 0);
  EXPECT_THAT(report.out, HasSubstr("1 GPU; too few to compare"));
}

TEST_F(CliFleet, AnOddGpuIsExitCode1AndInEveryFile) {
  const std::string arguments = store({{7, test::FleetFault::kSlowMemory, 10}}) + " --html " + in("a.html") +
                                " --csv " + in("a.csv") + " --json " + in("a.json") + " --prometheus " + in("a.prom");
  const CommandResult report = fleet("report " + arguments);
  EXPECT_EQ(report.exit_code, 1);
  EXPECT_THAT(report.out, HasSubstr("odd: gpu00007 on host host0000: device memory: worse"));
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
  EXPECT_THAT(report.err, HasSubstr("bad': not a store of a fleet"));
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
