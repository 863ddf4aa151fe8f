// The exit code for a finished report.
#include <gtest/gtest.h>

#include "cli/outcome.h"
#include "cli/terminal_style.h"

namespace gputopo::cli {
namespace {

// A complete report in which all promised values but one are there.
Topology topology_with(Reason reason, bool complete = true) {
  Topology topology;
  topology.vendor = "NVIDIA";
  topology.complete = complete;
  Attribute latency = reason == Reason::kNone ? api_value(34.0, "cycles") : unavailable(reason, "why");
  topology.memory = {{"l1", "L1", {{"size", api_value(std::int64_t{196608}, "B")}, {"latency", latency}}}};
  return topology;
}

TEST(Outcome, CompleteWhenEveryPromiseIsKept) {
  EXPECT_EQ(judge(topology_with(Reason::kNone), false).code, kExitComplete);
}

TEST(Outcome, AnAnswerAboutTheDeviceKeepsThePromise) {
  for (const Reason reason :
       {Reason::kNotApplicable, Reason::kNotSupported, Reason::kNotPresent, Reason::kNotSelected}) {
    EXPECT_EQ(judge(topology_with(reason), false).code, kExitComplete) << to_string(reason);
  }
}

TEST(Outcome, AFailureToFindOutBreaksIt) {
  for (const Reason reason : {Reason::kInconclusive, Reason::kDeviceError, Reason::kDependency}) {
    EXPECT_EQ(judge(topology_with(reason), false).code, kExitIncomplete) << to_string(reason);
  }
  EXPECT_EQ(judge(topology_with(Reason::kTimedOut, false), false).code, kExitIncomplete);
}

TEST(Outcome, NamesWhatIsMissingAndWhy) {
  const std::string text = judge(topology_with(Reason::kInconclusive), false).broken_promise;
  EXPECT_EQ(text, "1 of the requested values could not be determined: l1 latency (inconclusive: why)");
  EXPECT_EQ(judge(topology_with(Reason::kNotPresent), false).broken_promise, "");
}

TEST(Outcome, WhatTakesItsTimeCountsWhereItWasAskedFor) {
  Topology topology = topology_with(Reason::kNone);
  topology.memory[0].attributes.emplace_back("ways", unavailable(Reason::kNotSelected, "--full measures it"));
  EXPECT_EQ(judge(topology, false).code, kExitComplete);
  topology.memory[0].attributes.back().second = unavailable(Reason::kInconclusive, "why");
  EXPECT_EQ(judge(topology, false).code, kExitIncomplete);
  EXPECT_EQ(judge(topology, false).broken_promise,
            "1 of the requested values could not be determined: l1 ways (inconclusive: why)");
  topology.memory[0].attributes.back().second = unavailable(Reason::kDisturbed, "why");
  EXPECT_EQ(judge(topology, false).code, kExitIncomplete);
}

TEST(Outcome, TheUserMayEndItEarly) {
  EXPECT_EQ(judge(topology_with(Reason::kInterrupted, false), true).code, kExitInterrupted);
}

TEST(Outcome, ASignalAfterTheEndChangesNothing) {
  EXPECT_EQ(judge(topology_with(Reason::kNone), true).code, kExitComplete);
}

TEST(Outcome, ALostDeviceIsAFailureThatSaysWhy) {
  const auto outcome = judge(topology_with(Reason::kDeviceError, false), false);
  EXPECT_EQ(outcome.code, kExitFailure);
  EXPECT_EQ(outcome.error, "why");
  EXPECT_EQ(judge(topology_with(Reason::kDeviceError, false), true).error, "why");  // whatever the user did meanwhile
  Topology topology = topology_with(Reason::kNone, false);
  topology.memory[0].attributes.emplace_back("partitions", unavailable(Reason::kDeviceError, "not promised"));
  EXPECT_EQ(judge(topology, false).error, "not promised");
}

TEST(Outcome, WhatTheCoverageDoesNotPromiseIsNotMissed) {
  Topology topology = topology_with(Reason::kNone);
  topology.memory[0].attributes.emplace_back("partitions", unavailable(Reason::kInconclusive, ""));
  EXPECT_EQ(judge(topology, false).code, kExitComplete);
}

TEST(Help, GoesOnBelowItsTextWhereTheTerminalIsNarrow) {
  const std::string help =
      "Options:\n  --full                   Discover also what takes longer than the rest of it does\n"
      "                           The device; the first GPU if not given, or a simulated one\n"
      "  0    complete; of diff: alike; of check: within the tolerances that were given\n";
  EXPECT_EQ(cli::wrapped_help(help, 60),
            "Options:\n  --full                   Discover also what takes longer\n"
            "                           than the rest of it does\n"
            "                           The device; the first GPU if not\n"
            "                           given, or a simulated one\n"
            "  0    complete; of diff: alike; of check: within the\n"
            "       tolerances that were given\n");
  EXPECT_EQ(cli::wrapped_help(help, 200), help);
}

}  // namespace
}  // namespace gputopo::cli
