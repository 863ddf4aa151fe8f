// A call of the driver that never comes back: what was measured until then is reported, and the process ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "gputopo/file.h"
#include "gputopo/report.h"
#include "support/command.h"
#include "support/fake_cuda.h"

namespace gputopo {
namespace {

using test::CommandResult;
using ::testing::HasSubstr;

const std::string kBlockedRun = "env GPUTOPO_PATIENCE=0.3 GPUTOPO_FAKE_HOSTILE=hang:cuLaunchKernel@20 " GPUTOPO_BINARY
                                " --device cuda:0 --quiet --only shared,device --attribute size,latency --budget ";

// With ever more time, until the call that blocks is reached: a slow machine takes longer to come to it.
CommandResult run_until_blocked(const std::function<std::string(const char* seconds)>& command) {
  CommandResult result;
  for (const char* seconds : {"0.5", "2", "8", "32"}) {
    result = test::run_command(command(seconds));
    if (result.err.find("has not come back") != std::string::npos) break;
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
  EXPECT_THAT(result.err, HasSubstr("gputopo: error: cuLaunchKernel has not come back for "));
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
  EXPECT_EQ(result.exit_code, 124);  // of timeout, whose signal it was
  EXPECT_THAT(result.err, HasSubstr("cuLaunchKernel has not come back for "));
  EXPECT_THAT(result.out, HasSubstr("INCOMPLETE"));
}

TEST(BlockedCall, EndsTheListToo) {
  const test::FakeCuda fake;
  for (const char* call : {"cuInit", "cuDeviceGetCount", "cuDeviceGetName"}) {
    const CommandResult result = test::run_command(std::string("env GPUTOPO_PATIENCE=0.3 GPUTOPO_FAKE_HOSTILE=hang:") +
                                                   call + " timeout 20 " GPUTOPO_BINARY " list");
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_THAT(result.err, ::testing::StartsWith(std::string("gputopo: error: ") + call + " has not come back for "));
    EXPECT_THAT(result.out, ::testing::IsEmpty());
  }
}

}  // namespace
}  // namespace gputopo
