// Mistakes of users, and failures around gputopo: one clear line on standard error, the documented exit code, no lost
// data and no partial file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "gputopo/catalogue.h"
#include "gputopo/model.h"
#include "gputopo/report.h"
#include "support/command.h"
#include "support/fake_cuda.h"
#include "support/sample_topology.h"

namespace gputopo {
namespace {

using test::CommandResult;
using test::TemporaryFolder;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kQuick = " --device sim:h200 --only shared --attribute size,latency --quiet";

CommandResult gputopo_with(const std::string& arguments) { return test::run_command(GPUTOPO_BINARY " " + arguments); }

// Expects a single line that says what to do, and no result.
void expect_error(const CommandResult& result, int exit_code, const std::vector<std::string>& parts) {
  EXPECT_EQ(result.exit_code, exit_code) << result.err;
  EXPECT_THAT(result.err, StartsWith("gputopo: error: "));
  EXPECT_THAT(result.err, EndsWith("\n"));
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  for (const std::string& part : parts) EXPECT_THAT(result.err, HasSubstr(part));
}

// ---- usage ----

TEST(CliUsage, UnknownDeviceListsTheForms) {
  expect_error(gputopo_with("--device toaster:1"), 2, {"cuda:N", "sim:NAME", "replay:PATH"});
}

TEST(CliUsage, UnknownSimulatedMachineListsThem) { expect_error(gputopo_with("--device sim:h2000"), 2, {"h200"}); }

TEST(CliUsage, UnknownElementListsThem) {
  for (const auto& [device, vendor] : {std::pair("sim:h200", "NVIDIA"), {"sim:mi210", "AMD"}}) {
    std::vector<std::string> ids;
    for (const ElementInfo* element : elements_of(vendor_of(vendor))) ids.emplace_back(element->name);
    expect_error(gputopo_with(std::string("--device ") + device + " --quiet --only l7"), 2, ids);
  }
}

TEST(CliUsage, UnknownAttributeListsThem) {
  expect_error(gputopo_with("--device sim:h200 --quiet --attribute weight"), 2, element_attribute_names());
}

TEST(CliUsage, BudgetsThatAreNone) {
  for (const char* budget : {"0", "-1", "nan", "inf", "soon"}) {
    expect_error(gputopo_with(std::string("--budget ") + budget), 2, {"--budget", budget, "seconds above 0"});
  }
}

TEST(CliUsage, AnAttributeThatNoneOfTheElementsHas) {
  expect_error(gputopo_with("--device sim:gt200 --quiet --only texture --attribute near_sms"), 2, {"gputopo coverage"});
}

TEST(CliUsage, WrongOptions) {
  expect_error(gputopo_with("--colour"), 2, {"--colour", "--help"});
  expect_error(gputopo_with("frobnicate"), 2, {"frobnicate"});
  expect_error(gputopo_with("--budget -3"), 2, {"--budget"});
  expect_error(gputopo_with("--budget soon"), 2, {"--budget"});
  for (const char* seed : {"x", "-1", "1e3", "99999999999999999999"}) {
    expect_error(gputopo_with(std::string("--seed ") + seed), 2, {"--seed", seed, "whole number"});
  }
  expect_error(gputopo_with("replay --seed 2 x"), 2, {"--seed"});
  expect_error(gputopo_with("--json /tmp/a --csv /tmp/a"), 2, {"/tmp/a", "two outputs"});
  expect_error(gputopo_with("show"), 2, {"FILE"});
  expect_error(gputopo_with("--json x list"), 2, {"--json", "list"});
  expect_error(gputopo_with("--device sim:h200 replay x"), 2, {"--device"});
}

TEST(CliUsage, HelpAndVersionAreResults) {
  const CommandResult version = gputopo_with("--version");
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_EQ(version.out, "gputopo " GPUTOPO_VERSION "\n");
  const CommandResult help = gputopo_with("--help");
  EXPECT_EQ(help.exit_code, 0);
  EXPECT_THAT(help.out, HasSubstr("130  interrupted"));
  EXPECT_THAT(help.err, IsEmpty());
}

// ---- files that are not what they should be ----

TEST(CliFiles, ReportThatIsMissing) {
  expect_error(gputopo_with("show /no/such/report"), 1, {"/no/such/report", "check the path"});
}

TEST(CliFiles, ReportThatIsOfNoInstance) {
  const TemporaryFolder folder;
  write_file(folder.file("a.json"), to_json(test::sample_topology()));
  const std::string file = folder.file("a.json");
  expect_error(gputopo_with("show " + file + " --instance " + file), 2,
               {"instance_profile", "inside the MIG instance"});
}

TEST(CliFiles, ReportThatIsNotOurs) {
  const TemporaryFolder folder;
  write_file(folder.file("other.json"), "{\"tool\": \"mt4g\"}");
  expect_error(gputopo_with("show " + folder.file("other.json")), 1, {"other.json", "not a gputopo report"});
}

TEST(CliFiles, ReportThatWasCutShort) {
  const TemporaryFolder folder;
  const std::string text = to_json(test::sample_topology());
  write_file(folder.file("cut.json"), text.substr(0, text.size() / 2));
  expect_error(gputopo_with("show " + folder.file("cut.json")), 1, {"file is truncated"});
}

TEST(CliFiles, ReportOfAnotherSchemaVersion) {
  const TemporaryFolder folder;
  auto json = nlohmann::ordered_json::parse(to_json(test::sample_topology()));
  json["schema_version"] = 99;
  write_file(folder.file("new.json"), json.dump());
  expect_error(gputopo_with("show " + folder.file("new.json")), 1, {"schema version 99", "reads version 4"});
}

TEST(CliFiles, MachineFileWithImpossibleValuesNamesTheField) {
  const TemporaryFolder folder;
  auto machine = nlohmann::ordered_json::parse(read_file(GPUTOPO_SOURCE_DIR "/machines/h200.json"));
  machine["caches"][0]["line_bytes"] = 48;
  write_file(folder.file("odd.json"), machine.dump());
  expect_error(gputopo_with("--device sim:" + folder.file("odd.json")), 1, {"caches[0].line_bytes", "48"});
}

TEST(CliFiles, MachineFileOrRecordingThatIsMissing) {
  expect_error(gputopo_with("--device sim:/no/such/machine.json"), 1, {"/no/such/machine.json"});
  expect_error(gputopo_with("replay /no/such/recording"), 1, {"/no/such/recording"});
}

TEST(CliFiles, RecordingThatIsNotOne) {
  const TemporaryFolder folder;
  write_file(folder.file("text"), "hello");
  expect_error(gputopo_with("replay " + folder.file("text")), 1, {"recording"});
}

// ---- files that cannot be written ----

TEST(CliOutputs, UnwritableTargetsAreRefusedBeforeMeasuring) {
  const TemporaryFolder folder;
  const CommandResult json = gputopo_with(kQuick + (" --json " + folder.file("no/such/a.json")));
  expect_error(json, 1, {"a.json", "create its folder first"});
  EXPECT_THAT(json.out, IsEmpty());
  expect_error(gputopo_with(kQuick + (" --record " + folder.file("no/such/a.rec"))), 1, {"a.rec"});
  const CommandResult raw = gputopo_with(std::string(kQuick) + " --raw /dev/null/samples");
  expect_error(raw, 1, {"/dev/null/samples", "check the path"});
  EXPECT_THAT(raw.out, IsEmpty());
}

TEST(CliOutputs, ARunThatDoesNotBeginLeavesNoFolderBehind) {
  const TemporaryFolder folder;
  const std::string raw = " --quiet --raw " + folder.file("a/b");
  expect_error(gputopo_with("--device sim:h200 --only nosuch" + raw), 2, {"unknown element 'nosuch'", "l1, texture"});
  expect_error(gputopo_with("--device h100" + raw), 2, {"unknown device 'h100'", "did you mean sim:h100-sxm?"});
  EXPECT_NE(test::run_command("ls " + folder.file("a")).exit_code, 0);
}

TEST(CliOutputs, FullDiskIsAnErrorAndTheResultIsStillShown) {
  const CommandResult result = gputopo_with(std::string(kQuick) + " --json /dev/full");
  expect_error(result, 1, {"/dev/full", "free some space"});
  EXPECT_THAT(result.out, HasSubstr("Shared memory"));
}

TEST(CliOutputs, FullStandardOutputIsAnError) {
  for (const std::string& arguments : {std::string(kQuick), std::string("--help"), std::string("--version")}) {
    expect_error(gputopo_with(arguments + " >/dev/full"), 1, {"standard output"});
  }
}

TEST(CliOutputs, AFileThatDoesNotFitLeavesTheOldOne) {
  const TemporaryFolder folder;
  write_file(folder.file("a.json"), "old");
  // `ulimit -f 1` limits files to one block (512 bytes), like a disk that fills up while the report is written.
  // Standard output is a pipe, which has no such limit.
  const CommandResult result =
      test::run_command("(trap '' XFSZ; ulimit -f 1; exec " GPUTOPO_BINARY + std::string(kQuick) + " --json " +
                        folder.file("a.json") + ") | cat >/dev/null");
  EXPECT_THAT(result.err, HasSubstr("a.json"));
  EXPECT_EQ(read_file(folder.file("a.json")), "old");
  EXPECT_THAT(folder.entries(), ElementsAre("a.json"));
}

// ---- what goes where ----

TEST(CliStreams, QuietSaysNothingOnStandardError) {
  const CommandResult result = gputopo_with(kQuick);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(result.err, IsEmpty());
  EXPECT_THAT(result.out, HasSubstr("SIMULATED"));
}

TEST(CliStreams, ProgressIsPlainLinesInALog) {
  const CommandResult result = gputopo_with("--device sim:h200 --only shared --attribute size,latency");
  EXPECT_THAT(result.err, HasSubstr("(SIMULATED)"));
  EXPECT_THAT(result.err, HasSubstr("[0/2] shared."));
  EXPECT_THAT(result.err, Not(HasSubstr("\r")));
  EXPECT_THAT(result.out, Not(HasSubstr("[0/2]")));
}

TEST(CliStreams, ProgressOnATerminalIsOneLineThatFits) {
  if (test::run_command("command -v script").exit_code != 0) GTEST_SKIP() << "script (util-linux) is not installed";
  const auto on_terminal = [](const std::string& environment) {
    return test::run_command("env -u TERM " + environment +
                             " script -qec 'stty cols 40; " GPUTOPO_BINARY
                             " --device sim:h200 --only shared --attribute size,latency' /dev/null </dev/null")
        .out;
  };
  const std::string live = on_terminal("TERM=xterm");
  EXPECT_THAT(live, HasSubstr("\r\033[K[0/2] shared."));
  for (std::size_t at = 0; (at = live.find("\r\033[K[", at)) != std::string::npos; ++at) {
    EXPECT_LT(live.find_first_of("\r\n", at + 1) - at - 4, 40u) << live.substr(at, 80);
  }
  for (const char* environment : {"TERM=dumb", ""}) {
    const std::string plain = on_terminal(environment);
    EXPECT_THAT(plain, Not(HasSubstr("\033"))) << environment;
    EXPECT_THAT(plain, HasSubstr("[0/2] shared."));
    EXPECT_THAT(plain, HasSubstr("at most 60 s left"));
  }
}

TEST(CliStreams, JsonOnStandardOutputIsNothingElse) {
  const CommandResult result = gputopo_with("--device sim:h200 --only shared --verbose --json -");
  EXPECT_EQ(to_json(read_json(result.out)), result.out);
}

TEST(CliStreams, DumpedProgramsAreNotTheResult) {
  const CommandResult result = gputopo_with(std::string(kQuick) + " --dump-program --json -");
  EXPECT_EQ(to_json(read_json(result.out)), result.out);
  EXPECT_THAT(result.err, HasSubstr("array=shared:"));
}

TEST(CliStreams, ShowGivesTheSameTableAgain) {
  const TemporaryFolder folder;
  const CommandResult measured = gputopo_with(
      "--device sim:h200 --only shared,constant_l1 --attribute size,latency --quiet --json " + folder.file("a.json"));
  const CommandResult shown = gputopo_with("show " + folder.file("a.json"));
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_EQ(shown.out, measured.out);
}

TEST(CliStreams, TheSameSeedGivesTheSameTable) {
  const std::string arguments = "--device sim:h200 --only constant_l1 --attribute size,latency --quiet --seed 7";
  const CommandResult once = gputopo_with(arguments);
  EXPECT_EQ(once.exit_code, 0) << once.err;
  EXPECT_THAT(once.out, HasSubstr("constant_l1"));
  EXPECT_EQ(gputopo_with(arguments).out, once.out);
}

TEST(CliStreams, RawSamplesAreFiles) {
  const TemporaryFolder folder;
  const CommandResult result =
      gputopo_with("--device sim:h200 --only constant_l1 --attribute size --quiet --raw " + folder.file("raw"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(test::run_command("ls " + folder.file("raw") + "/constant_l1.size.*.csv").exit_code, 0);
  // Samples of two runs must not mix.
  expect_error(gputopo_with("--device sim:h200 --quiet --raw " + folder.file("raw")), 1, {"not empty", "another"});
}

TEST(CliStreams, ARecordingReplaysToTheSameValues) {
  const TemporaryFolder folder;
  const CommandResult measured =
      gputopo_with("--device sim:h200 --seed 3 --only constant_l1 --attribute size --quiet --json - --record " +
                   folder.file("a.rec"));
  const CommandResult replayed =
      gputopo_with("replay --quiet --json - --only constant_l1 --attribute size " + folder.file("a.rec"));
  ASSERT_EQ(replayed.exit_code, measured.exit_code) << replayed.err;
  const MemoryElement before = *read_json(measured.out).find_memory("constant_l1");
  EXPECT_EQ(*read_json(replayed.out).find_memory("constant_l1"), before);
}

// A GPU that cannot run some of the programs.
TEST(CliStreams, ARecordingOfAnOldGpuReplaysToTheSameExitCode) {
  const TemporaryFolder folder;
  const CommandResult measured =
      gputopo_with("--device sim:gt200 --quiet --only shared,bulk_copy --record " + folder.file("a.rec"));
  const CommandResult replayed = gputopo_with("replay --quiet --only shared,bulk_copy " + folder.file("a.rec"));
  EXPECT_EQ(measured.exit_code, 0) << measured.err;
  EXPECT_EQ(replayed.exit_code, 0) << replayed.err;
}

TEST(CliStreams, ListAndCoverageAreResults) {
  EXPECT_THAT(gputopo_with("list").out, HasSubstr("sim:h200"));
  EXPECT_EQ(gputopo_with("coverage").out, coverage_table());
}

// ---- ending early ----

TEST(CliInterrupt, WritesWhatWasMeasuredMarkedIncomplete) {
  const TemporaryFolder folder;
  const std::string report = folder.file("a.json");
  const std::string recording = folder.file("a.rec");
  // Sends the signal after the log shows that the discovery measures.
  const std::string log = folder.file("err");
  const CommandResult result =
      test::run_command(GPUTOPO_BINARY " --device sim:h200 --json " + report + " --record " + recording + " 2>" + log +
                        " & child=$!; until grep -q '\\[1/' " + log +
                        " || ! kill -0 $child; do sleep 0.01; done; kill -INT $child; wait $child");
  EXPECT_EQ(result.exit_code, 130) << read_file(log);
  EXPECT_THAT(result.out, HasSubstr("INCOMPLETE"));
  const Topology topology = read_json(read_file(report));
  EXPECT_FALSE(topology.complete);
  EXPECT_EQ(gputopo_with("replay " + recording + " --quiet --only l1 --attribute fetch_granularity").err, "");
}

TEST(CliBudget, WhatDidNotFitIsReportedAsTimedOut) {
  const CommandResult result = gputopo_with("--device sim:h200 --quiet --budget 0.05 --json -");
  EXPECT_EQ(result.exit_code, 3) << result.err;
  const Topology topology = read_json(result.out);
  EXPECT_FALSE(topology.complete);
  EXPECT_THAT(result.out, HasSubstr("timed_out"));
}

// ---- drivers and GPUs that fail, as the command line shows it ----

CommandResult on_fake_gpu(const std::string& behaviour, const std::string& arguments) {
  const test::FakeCuda fake(behaviour);
  return gputopo_with("--device cuda:0 --quiet " + arguments);
}

TEST(CliDevice, WhatTheDriverRefusesIsOneLine) {
  expect_error(on_fake_gpu("no_device", ""), 1, {"CUDA_VISIBLE_DEVICES"});
  expect_error(on_fake_gpu("old_driver", ""), 1, {"driver too old"});
  expect_error(on_fake_gpu("no_permission", ""), 1, {"permission"});
  expect_error(on_fake_gpu("busy", ""), 1, {"another process"});
  const test::FakeCuda none("", "/nonexistent/libcuda.so.1");
  expect_error(gputopo_with("--device cuda:0 --quiet"), 1, {"no NVIDIA driver", "--device sim:h200"});
}

TEST(CliDevice, ALostDeviceLeavesWhatWasMeasured) {
  const TemporaryFolder folder;
  const CommandResult result =
      on_fake_gpu("lost_after=12",
                  "--only shared,constant_l1 --json " + folder.file("a.json") + " --record " + folder.file("a.rec"));
  expect_error(result, 1, {"kernel", "nvidia-smi"});
  const Topology topology = read_json(read_file(folder.file("a.json")));
  EXPECT_FALSE(topology.complete);
  EXPECT_THAT(topology.warnings, ::testing::Contains(HasSubstr("the device failed")));
  EXPECT_THAT(folder.entries(), ::testing::UnorderedElementsAre("a.json", "a.rec"));
}

TEST(CliProfile, SaysWhereTheTimeOfTheDriverWent) {
  const TemporaryFolder folder;
  const CommandResult result = on_fake_gpu("", "--only shared --attribute latency --profile --json -");
  EXPECT_THAT(result.err, HasSubstr("shared.latency"));
  EXPECT_THAT(result.err, HasSubstr("cuLaunchKernel"));
  const Topology topology = read_json(result.out);
  ASSERT_TRUE(topology.profile.has_value());
  EXPECT_GT(topology.profile->opening.of(CallKind::kOther).calls, 0u);
  const auto step = std::ranges::find(topology.timing, "shared.latency", &ProbeTime::probe);
  ASSERT_NE(step, topology.timing.end());
  ASSERT_TRUE(step->device.has_value());
  EXPECT_GT(step->device->gpu_seconds, 0);
  EXPECT_LE(step->device->gpu_seconds, topology.profile->total.gpu_seconds);
  for (const CallKind kind : {CallKind::kCopy, CallKind::kLaunch, CallKind::kWait}) {
    EXPECT_GT(step->device->of(kind).calls, 0u) << to_string(kind);
    EXPECT_LE(step->device->of(kind).calls, topology.profile->total.of(kind).calls) << to_string(kind);
  }
  EXPECT_LE(step->device->driver_seconds(), step->seconds);
}

TEST(CliProfile, OfASimulatedGpuHasNoDriver) {
  const CommandResult result = gputopo_with(kQuick + std::string(" --profile --json -"));
  const Topology topology = read_json(result.out);
  ASSERT_TRUE(topology.profile.has_value());
  EXPECT_EQ(topology.profile->total, DeviceTimes{});
  EXPECT_THAT(result.err, HasSubstr("between the probes"));
}

TEST(CliReplay, ProgramsThatAreNotInTheRecordingAreNoAnswerOfTheDevice) {
  const TemporaryFolder folder;
  const CommandResult recorded = gputopo_with(kQuick + (" --record " + folder.file("a.rec")));
  EXPECT_EQ(recorded.exit_code, 0);
  const CommandResult replayed =
      gputopo_with("replay " + folder.file("a.rec") + " --quiet --only shared,l1 --attribute size,latency");
  EXPECT_EQ(replayed.exit_code, 3) << replayed.out;
  EXPECT_THAT(replayed.out, HasSubstr("the recording does not contain"));
}

}  // namespace
}  // namespace gputopo
