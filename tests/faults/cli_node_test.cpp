// `gputopo node` as a user runs it.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "gputopo/file.h"
#include "gputopo/node.h"
#include "support/command.h"
#include "support/fake_cuda.h"
#include "support/fake_hip.h"
#include "support/sanitized.h"

namespace gputopo {
namespace {

using test::CommandResult;
using test::TemporaryFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

CommandResult node_command(const std::string& arguments) { return test::run_command(GPUTOPO_BINARY " " + arguments); }

const std::string kQuickNode = "--only shared --attribute latency --quiet ";

TEST(CliNode, MeasuresEveryGpuAndTheLinksBetweenThem) {
  const TemporaryFolder folder;
  const CommandResult run = node_command("node --node sim:h200x2 " + kQuickNode + "--json " + folder.file("n.json") +
                                         " --html " + folder.file("n.html") + " --svg " + folder.file("n.svg"));
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(StartsWith("2 x NVIDIA H200 (SIMULATED)"),
                             HasSubstr("Copy engine bandwidth, one way, GB/s"), HasSubstr("Host to each GPU")));
  const NodeReport report = read_node_json(read_file(folder.file("n.json")));
  ASSERT_THAT(report.gpus, SizeIs(2));
  for (const NodeGpuReport& gpu : report.gpus) {
    ASSERT_TRUE(gpu.report.has_value());
    EXPECT_EQ(gpu.report->name, "NVIDIA H200");
  }
  EXPECT_NE(report.gpus[0].gpu.id, report.gpus[1].gpu.id);
  EXPECT_THAT(report.links, SizeIs(6));
  EXPECT_EQ(report.host_name, "");
  EXPECT_THAT(read_file(folder.file("n.html")), AllOf(StartsWith("<!DOCTYPE html>"), HasSubstr("SIMULATED")));
  EXPECT_THAT(read_file(folder.file("n.svg")), StartsWith("<svg"));
}

TEST(CliNode, ShowGivesWhatTheMeasurementGave) {
  const TemporaryFolder folder;
  const CommandResult run = node_command("node --node sim:ring4 --links-only --quiet --json " + folder.file("a.json"));
  const CommandResult shown = node_command("show " + folder.file("a.json"));
  EXPECT_EQ(shown.out, run.out);
  EXPECT_EQ(node_command("show --json - " + folder.file("a.json")).out, read_file(folder.file("a.json")));
  EXPECT_THAT(node_command("show --csv - " + folder.file("a.json")).err,
              HasSubstr("--csv applies only to the report of one GPU; for a node, use --json, --html or --svg"));
}

TEST(CliNode, ARecordingOfANodeIsANode) {
  const TemporaryFolder folder;
  const std::string kept = folder.file("kept");
  const std::string simulated = node_command("node --node sim:h200x2 " + kQuickNode + "--record " + kept).out;
  EXPECT_TRUE(std::filesystem::exists(kept + "/links.json"));
  EXPECT_TRUE(std::filesystem::exists(kept + "/gpu1.gputopo"));
  const CommandResult replayed = node_command("node " + kQuickNode + "--node replay:" + kept);
  EXPECT_EQ(replayed.exit_code, 0) << replayed.err;
  const auto values_of = [](const std::string& text) { return text.substr(0, text.find(" s for the GPUs") - 4); };
  EXPECT_EQ(values_of(replayed.out), values_of(simulated));
  EXPECT_THAT(node_command("node --quiet --links-only --record " + kept).err, HasSubstr("kept"));  // it is not empty
}

TEST(CliNode, AGpuThatCannotBeMeasuredCostsNoOther) {
  const TemporaryFolder folder;
  const test::FakeCuda fake("second_is_busy");
  const CommandResult run =
      node_command("node --node cuda --budget 600 " + kQuickNode + "--json " + folder.file("n.json"));
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.err, HasSubstr("part of the node was not measured"));
  const NodeReport report = read_node_json(read_file(folder.file("n.json")));
  EXPECT_FALSE(report.complete);
  EXPECT_TRUE(report.gpus[0].report.has_value());
  EXPECT_FALSE(report.gpus[1].report.has_value());
  EXPECT_THAT(report.gpus[1].failure, HasSubstr("another process holds this GPU"));
  const LinkReport* link = report.link({EndpointKind::kHost, 0}, {EndpointKind::kGpu, 1});
  ASSERT_NE(link, nullptr);
  EXPECT_THAT(find(link->attributes, "copy_bandwidth")->detail, HasSubstr("gpu1 could not be opened"));
  EXPECT_TRUE(
      find(report.link({EndpointKind::kHost, 0}, {EndpointKind::kGpu, 0})->attributes, "copy_bandwidth")->available());
}

// The management library lists more GPUs than the driver shows to this process, or fewer.
TEST(CliNode, AWrongGuessOfItsGpusCostsNothing) {
  for (const char* gpus : {"gpus=1", "gpus=2"}) {
    const TemporaryFolder folder;
    const test::FakeCuda fake(gpus);
    const CommandResult run = test::run_command("env GPUTOPO_LIBNVML=" GPUTOPO_FAKE_NVML_LIBRARY " " GPUTOPO_BINARY
                                                " node --node cuda --gpus-only " +
                                                kQuickNode + "--json " + folder.file("n.json"));
    EXPECT_EQ(run.exit_code, 0) << run.err;
    const NodeReport report = read_node_json(read_file(folder.file("n.json")));
    ASSERT_THAT(report.gpus, SizeIs(gpus == std::string("gpus=1") ? 1 : 2));
    for (const NodeGpuReport& gpu : report.gpus) EXPECT_TRUE(gpu.report.has_value()) << gpu.failure;
  }
}

// A GPU is opened for its links after its own process has ended.
TEST(CliNode, OpensLinksWhileItMeasuresOtherGpus) {
  const TemporaryFolder folder;
  const auto report_of = [&](const char* behaviour, int exit_code) {
    const test::FakeCuda fake(behaviour);
    // Leaves time for machines that are slow under sanitizers and other tests.
    const CommandResult run =
        test::run_command(GPUTOPO_BINARY " node --one-by-one --node cuda --budget 600 --allow-not-judged " +
                          kQuickNode + "--json " + folder.file("n.json"));
    EXPECT_EQ(run.exit_code, exit_code) << run.err;
    return read_node_json(read_file(folder.file("n.json")));
  };
  const NodeReport both = report_of("gpus=2", 0);
  EXPECT_TRUE(
      find(both.link({EndpointKind::kGpu, 0}, {EndpointKind::kGpu, 1})->attributes, "copy_bandwidth")->available());
  const NodeReport one = report_of("second_is_busy", 3);
  EXPECT_TRUE(
      find(one.link({EndpointKind::kHost, 0}, {EndpointKind::kGpu, 0})->attributes, "copy_bandwidth")->available());
  EXPECT_THAT(find(one.link({EndpointKind::kHost, 0}, {EndpointKind::kGpu, 1})->attributes, "copy_bandwidth")->detail,
              HasSubstr("gpu1 could not be opened"));
}

TEST(CliNode, ADriverThatHangsWhileLinksAreOpenedIsNamed) {
  const TemporaryFolder folder;
  const test::FakeCuda fake("gpus=2");
  const CommandResult run = test::run_command(
      "env GPUTOPO_PATIENCE=0.3 GPUTOPO_FAKE_HOSTILE=hang:cuDevicePrimaryCtxRetain "
      "timeout 60 " GPUTOPO_BINARY " node --node cuda --quiet --budget 0.5 --json " +
      folder.file("n.json"));
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, HasSubstr("cuDevicePrimaryCtxRetain has not returned for "));
  const NodeReport report = read_node_json(read_file(folder.file("n.json")));
  EXPECT_FALSE(report.complete);
  ASSERT_THAT(report.gpus, SizeIs(2));
  EXPECT_THAT(report.gpus[0].failure, HasSubstr("cuDevicePrimaryCtxRetain has not returned"));
}

// Results of the GPUs' processes lie in no folder, so nobody can remove them.
TEST(CliNode, NeedsNoFolder) {
  const TemporaryFolder folder;
  const CommandResult run = test::run_command("env TMPDIR=" + folder.file("none") +
                                              " " GPUTOPO_BINARY " node --node sim:h200x2 --gpus-only " + kQuickNode);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(folder.entries(), ::testing::IsEmpty());
}

TEST(CliNode, AnOutputThatCannotBeWrittenCostsNoOther) {
  const TemporaryFolder folder;
  const CommandResult run =
      test::run_command("mkdir " + folder.file("gone") + "; { while ! grep -q 'is done' " + folder.file("err") +
                        "; do sleep 0.02; done; rm -r " + folder.file("gone") +
                        "; } & " GPUTOPO_BINARY " node --node sim:h200x2 --only shared --attribute latency --json " +
                        folder.file("gone/n.json") + " --html " + folder.file("n.html") + " 2> " + folder.file("err") +
                        "; code=$?; cat " + folder.file("err") + " >&2; exit $code");
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.err, HasSubstr("gputopo: error: cannot write '" + folder.file("gone/n.json")));
  EXPECT_THAT(run.out, StartsWith("2 x NVIDIA H200 (SIMULATED)"));
  EXPECT_THAT(read_file(folder.file("n.html")), StartsWith("<!DOCTYPE html>"));
}

// Starts a node whose GPUs take long, and runs `commands` with $node (its process) and $child (one of its children).
CommandResult node_with(const std::string& options, const std::string& commands) {
  return test::run_command("env GPUTOPO_PATIENCE=0.5 " GPUTOPO_BINARY " node --node sim:h200x2 --full --quiet " +
                           options +
                           " & node=$!; child=; while [ -z \"$child\" ]; do sleep 0.05; read child rest < "
                           "/proc/$node/task/$node/children; done; sleep " +
                           (test::kSanitized ? "3; " : "0.2; ") + commands);
}

TEST(CliNode, AProcessThatIsStoppedIsNotWaitedFor) {
  const TemporaryFolder folder;
  const auto begin = std::chrono::steady_clock::now();
  const CommandResult run =
      node_with("--gpus-only --budget 3 --json " + folder.file("n.json"),
                "kill -STOP $child; wait $node; code=$?; kill -0 $child && echo lives >&2; exit $code");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(40));
  EXPECT_EQ(run.exit_code, 3) << run.err;
  EXPECT_THAT(run.err, Not(HasSubstr("lives")));
  const NodeReport report = read_node_json(read_file(folder.file("n.json")));
  const auto was_stopped = [](const NodeGpuReport& gpu) {
    return gpu.failure.find("a signal suspended its process") != std::string::npos;
  };
  EXPECT_EQ(std::count_if(report.gpus.begin(), report.gpus.end(), was_stopped), 1);
}

TEST(CliNode, AStoppedProcessEndsWithAnInterrupt) {
  const TemporaryFolder folder;
  const CommandResult run = node_with(
      "--budget 600 --json " + folder.file("n.json"),
      "kill -STOP $child; kill -INT $node; wait $node; code=$?; kill -0 $child && echo lives >&2; exit $code");
  EXPECT_EQ(run.exit_code, 130) << run.err;
  EXPECT_THAT(run.err, Not(HasSubstr("lives")));
  const NodeReport report = read_node_json(read_file(folder.file("n.json")));
  ASSERT_THAT(report.gpus, SizeIs(2));
  for (const NodeGpuReport& gpu : report.gpus) EXPECT_TRUE(gpu.report.has_value()) << gpu.failure;
}

TEST(CliNode, NoProcessOutlivesASecondInterruptOrItsParent) {
  // An adopting process may leave it as a zombie (Z).
  const std::string is_gone =
      "; wait $node; for i in 1 2 3 4 5 6 7 8 9 10; do case $(sed -n 's/^State:.//p' /proc/$child/status) in Z*|'') "
      "exit "
      "0;; esac; sleep 0.2; done 2> /dev/null; exit 99";
  for (const char* end : {"kill -INT $node; sleep 0.1; kill -INT $node", "kill -KILL $node"}) {
    const CommandResult run = node_with("--budget 600", "kill -STOP $child; " + std::string(end) + is_gone);
    EXPECT_EQ(run.exit_code, 0) << end;
  }
}

TEST(CliNode, MeasuresAmdGpusAndTheirLinks) {
  const TemporaryFolder folder;
  const test::FakeHip fake;
  const CommandResult run =
      node_command("node --node hip --only lds --attribute latency --quiet --json " + folder.file("n.json"));
  EXPECT_EQ(run.exit_code, 3) << "the width of the link is unknown";
  const NodeReport report = read_node_json(read_file(folder.file("n.json")));
  ASSERT_THAT(report.gpus, SizeIs(1));
  EXPECT_TRUE(report.gpus[0].report.has_value());
  const LinkReport* link = report.link({EndpointKind::kHost, 0}, {EndpointKind::kGpu, 0});
  EXPECT_TRUE(find(link->attributes, "copy_bandwidth")->available());
  EXPECT_TRUE(find(link->attributes, "load_latency")->available());
}

// If the runtime lacks the functions for transfers, the reports of the GPUs must still be complete.
TEST(CliNode, SaysThatARuntimeIsTooOldForLinks) {
  const TemporaryFolder folder;
  const test::FakeHip fake({}, "mi210", {}, GPUTOPO_FAKE_HIP_MINIMAL);
  const CommandResult run =
      node_command("node --node hip --only lds --attribute latency --quiet --json " + folder.file("n.json"));
  EXPECT_EQ(run.exit_code, 3) << "the links were not judged";
  EXPECT_THAT(run.out, HasSubstr("this HIP runtime is too old to measure links"));
}

TEST(CliNode, KeepsWhatHwlocKnowsOfTheHost) {
  const TemporaryFolder folder;
  const CommandResult run =
      node_command("node --node sim:h200x2 --links-only --quiet --hwloc --json " + folder.file("n.json"));
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const NodeReport report = read_node_json(read_file(folder.file("n.json")));
  if (report.hwloc_xml.empty()) {
    EXPECT_THAT(run.out, HasSubstr("install libhwloc15"));
    GTEST_SKIP() << "hwloc is not installed";
  }
  write_file(folder.file("host.xml"), report.hwloc_xml);
  const CommandResult info = test::run_command("hwloc-info --input " + folder.file("host.xml"));
  EXPECT_EQ(info.exit_code, 0) << info.err;
  EXPECT_THAT(info.out, HasSubstr("Machine"));
}

TEST(CliNode, RefusesInOneLine) {
  const auto refusal = [](const std::string& arguments) {
    const CommandResult run = node_command("node --quiet " + arguments);
    EXPECT_NE(run.exit_code, 0) << arguments;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    return run.err;
  };
  EXPECT_THAT(refusal("--node moon"), HasSubstr("unknown node 'moon'; use one of cuda, hip, sim:NAME"));
  EXPECT_THAT(refusal("--node sim:h200x3"), HasSubstr("did you mean sim:h200x2"));
  EXPECT_THAT(refusal("--node replay:/nowhere"), HasSubstr("/nowhere/links.json"));
  EXPECT_THAT(refusal("--node sim:h200x2 --only moon"), HasSubstr("was not measured"));
  EXPECT_THAT(refusal("--links-only --gpus-only"), HasSubstr("excludes"));
  EXPECT_THAT(refusal("--node sim:h200x2 --json /tmp/one --html /tmp/one"), HasSubstr("same file"));
}

TEST(CliNode, ReadsNoDocumentThatIsBroken) {
  const TemporaryFolder folder;
  const std::string whole = folder.file("whole.json");
  ASSERT_EQ(node_command("node --node sim:h200x2 --links-only --quiet --json " + whole).exit_code, 0);
  const std::string text = read_file(whole);
  const auto refusal = [&](const std::string& broken) {
    write_file(folder.file("broken.json"), broken);
    const CommandResult run = node_command("show " + folder.file("broken.json"));
    EXPECT_EQ(run.exit_code, 1) << run.out;
    EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << run.err;
    return run.err;
  };
  const auto with = [&](const std::string& find, const std::string& replacement) {
    std::string changed = text;
    changed.replace(changed.find(find), find.size(), replacement);
    return changed;
  };
  EXPECT_THAT(refusal(text.substr(0, text.size() / 2)), HasSubstr("broken.json"));
  EXPECT_THAT(refusal(with("\"schema_version\": 2", "\"schema_version\": 9")), HasSubstr("schema version 9"));
  EXPECT_THAT(refusal(with("\"to\": \"gpu1\"", "\"to\": \"gpu7\"")), HasSubstr("gpu"));
  EXPECT_THAT(refusal(with("\"from\": \"host0\"", "\"from\": \"moon\"")), HasSubstr("not a place"));
}

}  // namespace
}  // namespace gputopo
