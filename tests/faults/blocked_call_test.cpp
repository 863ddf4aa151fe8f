// A driver call that never returns: gputopo reports the values measured so far, and the process ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <string>
#include <tuple>

#include "gputopo/file.h"
#include "gputopo/node.h"
#include "gputopo/report.h"
#include "support/command.h"
#include "support/fake_cuda.h"
#include "support/fake_hip.h"
#include "support/sanitized.h"

namespace gputopo {
namespace {

using test::CommandResult;
using ::testing::HasSubstr;

const std::string kBlockedRun = "env GPUTOPO_PATIENCE=0.3 GPUTOPO_FAKE_HOSTILE=hang:cuLaunchKernel@20 " GPUTOPO_BINARY
                                " --device cuda:0 --quiet --only shared,device --attribute size,latency --budget ";

// Retries with more time until the blocking call is reached, because a slow machine takes longer to get there.
CommandResult run_until_blocked(const std::function<std::string(const char* seconds)>& command) {
  CommandResult result;
  for (const char* seconds : {"0.5", "2", "8", "32"}) {
    result = test::run_command(command(seconds));
    if (result.err.find("has not returned") != std::string::npos) break;
  }
  return result;
}

TEST(BlockedCall, LeavesWhatIsKnownSoFar) {
  const test::FakeCuda fake;
  const test::TemporaryFolder folder;
  const CommandResult result = run_until_blocked([&](const char* seconds) {
    return "rm -rf " + folder.file("raw") + "; " + kBlockedRun + seconds + " --json " + folder.file("a.json") +
           " --record " + folder.file("a.rec") + " --raw " + folder.file("raw");
  });
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("gputopo: error: cuLaunchKernel has not returned for "));
  EXPECT_THAT(result.out, HasSubstr("INCOMPLETE"));
  const Topology topology = read_json(read_file(folder.file("a.json")));
  EXPECT_FALSE(topology.complete);
  EXPECT_TRUE(topology.find_attribute("shared", "latency")->available());
  EXPECT_EQ(topology.find_attribute("device", "latency")->reason, Reason::kDeviceError);
  EXPECT_THAT(topology.find_attribute("device", "latency")->detail, HasSubstr("cuLaunchKernel"));
  EXPECT_THAT(folder.entries(), ::testing::ElementsAre("a.json", "a.rec", "raw"));
}

TEST(BlockedCall, EndsSoonAfterTheFirstInterrupt) {
  const test::FakeCuda fake;
  const CommandResult result = run_until_blocked(
      [](const char* seconds) { return std::string("timeout --signal=INT ") + seconds + " " + kBlockedRun + "60"; });
  EXPECT_EQ(result.exit_code, 124);  // exit code of timeout, which sent the signal
  EXPECT_THAT(result.err, HasSubstr("cuLaunchKernel has not returned for "));
  EXPECT_THAT(result.out, HasSubstr("INCOMPLETE"));
}

// ---- A driver that hangs or crashes costs no GPU of another ----

CommandResult with_hostile(const std::string& hostile, const std::string& arguments) {
  // The runtime of the sanitizers would catch the signal of a crash before gputopo does.
  const std::string sanitizers =
      test::kSanitized ? "ASAN_OPTIONS=handle_segv=0 GPUTOPO_PATIENCE=3" : "GPUTOPO_PATIENCE=0.5";
  return test::run_command("env " + sanitizers + " GPUTOPO_FAKE_HOSTILE=" + hostile +
                           " timeout 60 " GPUTOPO_BINARY " " + arguments);
}

TEST(HostileBackend, IsLeftOutOfTheListInOneLine) {
  const test::FakeCuda cuda;
  const test::FakeHip hip;
  struct Case {
    const char* hostile;
    const char* line;
    const char* other;
  };
  for (const Case& one :
       {Case{"hang:cuInit", "cuda: cuInit has not returned for ", "hip:0 "},
        Case{"hang:cuDeviceGetName", "cuda: cuDeviceGetName has not returned for ", "hip:0 "},
        Case{"abort:cuInit", "cuda: cuInit ended the query process with signal 6 (SIGABRT)", "hip:0 "},
        Case{"crash:hipGetDeviceCount", "hip: hipGetDeviceCount ended the query process with signal 11 (SIGSEGV)",
             "cuda:0 "},
        Case{"abort:hipGetDeviceCount", "hip: hipGetDeviceCount ended the query process with signal 6 (SIGABRT)",
             "cuda:0 "}}) {
    const CommandResult result = with_hostile(one.hostile, "list");
    EXPECT_EQ(result.exit_code, 3) << one.hostile;
    EXPECT_THAT(result.err, ::testing::StartsWith(std::string("gputopo: ") + one.line));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_THAT(result.out, ::testing::StartsWith(one.other));
    EXPECT_THAT(result.out, HasSubstr("sim:h200 "));
  }
}

TEST(HostileBackend, CostsNotTheDefaultOfAnother) {
  const std::string quick = "--only lds --attribute latency --budget 20 --json -";
  const test::FakeCuda cuda;
  {
    const test::FakeHip hip;
    const CommandResult result = with_hostile("abort:cuInit", quick);
    EXPECT_EQ(read_json(result.out).backend, "hip") << result.err;
    const CommandResult node = with_hostile("abort:cuInit", "node --gpus-only " + quick);
    EXPECT_THAT(read_node_json(node.out).backend, "hip") << node.err;
    // A backend that is not requested must not be called.
    const CommandResult other = with_hostile("abort:hipGetDeviceCount",
                                             "--device cuda:0 --only shared --attribute latency --budget 20 --json -");
    EXPECT_EQ(read_json(other.out).backend, "cuda") << other.err;
  }
  const CommandResult alone = with_hostile("abort:cuInit", "--only shared --attribute latency --budget 20 --json -");
  EXPECT_TRUE(read_json(alone.out).simulated);
  EXPECT_THAT(alone.err, ::testing::StartsWith("gputopo: no GPU can be used: cuda: cuInit ended the query process with "
                                               "signal 6 (SIGABRT)"));
}

// There is nothing else to measure, so the process ends by the driver's signal.
TEST(HostileBackend, ThatWasAskedForIsNamedWhereItCrashes) {
  const test::FakeCuda fake;
  const test::TemporaryFolder folder;
  for (const auto& [mode, signal, name] :
       {std::tuple("abort", SIGABRT, "SIGABRT"), std::tuple("crash", SIGSEGV, "SIGSEGV")}) {
    const CommandResult result = with_hostile(std::string(mode) + ":cuLaunchKernel@3",
                                              "--quiet --device cuda:0 --only shared --json " + folder.file("a.json"));
    EXPECT_EQ(result.exit_code, 128 + signal);
    EXPECT_THAT(result.err, HasSubstr(std::string("gputopo: error: the driver crashed in cuLaunchKernel (") + name));
    EXPECT_THAT(folder.entries(), ::testing::IsEmpty());
  }
}

}  // namespace
}  // namespace gputopo
