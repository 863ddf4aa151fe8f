// packaging/cluster/health-check.sh has three answers: the GPU is good, bad, or was not judged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "gputopo/file.h"
#include "support/command.h"

namespace gputopo {
namespace {

using test::CommandResult;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kGood = 0;
constexpr int kBad = 1;
constexpr int kNotJudged = 3;

const std::string kWorse = "violation: l2 latency: 300 cycles, baseline 281 cycles";

class HealthCheck : public ::testing::Test {
 protected:
  void SetUp() override {
    write_program("scontrol", "echo \"$@\" >>" + drained());
    write_program("logger", "echo \"$@\" >>" + folder_.file("logged"));
    write_file(baseline_, "{}");
    judge_by({});
  }

  struct Answer {
    int code = 0;
    std::string said;
  };
  // Sets gputopo's answer for each device; for the node, it is of_links_. `of_baseline`: exit code of comparing the
  // baseline with itself.
  void judge_by(const std::map<std::string, Answer>& answers, int of_baseline = 0) const {
    std::string script =
        "case \"$*\" in\n\"check " + baseline_ + " --baseline\"*) echo 'gputopo: error: no report' >&2; exit " +
        std::to_string(of_baseline) +
        ";;\n\"node \"*) eval file=\\$$#; echo '{}' >\"$file\"; exit 0;;\n*\" --require links\") echo " +
        test::quoted(of_links_.said) + "; exit " + std::to_string(of_links_.code) + ";;\nlist)\n";
    for (const auto& [device, answer] : answers) script += "echo '" + device + "  NVIDIA H200'\n";
    script += "exit 0;;\n";
    for (const auto& [device, answer] : answers) {
      script += "*\"--device " + device + " \"*) echo " + test::quoted(answer.said) + "; exit " +
                std::to_string(answer.code) + ";;\n";
    }
    write_program("gputopo", script + "esac\nexit 99");
  }
  void write_program(const std::string& name, const std::string& script) const {
    write_file(folder_.file(name), "#!/bin/sh\n" + script + "\n");
    ::chmod(folder_.file(name).c_str(), 0755);
  }
  [[nodiscard]] CommandResult check(const std::string& variables = "") const {
    std::filesystem::remove(drained());
    return test::run_command("env PATH=" + folder_.path().string() +
                             ":$PATH SLURMD_NODENAME=n7 GPUTOPO_BASELINE=" + baseline_ + " " + variables +
                             " sh " GPUTOPO_SOURCE_DIR "/packaging/cluster/health-check.sh");
  }
  [[nodiscard]] std::string drained() const { return folder_.file("drained"); }
  [[nodiscard]] std::string reason() const { return std::filesystem::exists(drained()) ? read_file(drained()) : ""; }

  Answer of_links_ = {0, "ok"};
  const test::TemporaryFolder folder_;
  const std::string baseline_ = folder_.file("baseline.json");
};

TEST_F(HealthCheck, GoodGpus) {
  judge_by({{"cuda:0", {0, "ok"}}, {"hip:1", {0, "ok"}}});
  const CommandResult result = check();
  EXPECT_EQ(result.exit_code, kGood);
  EXPECT_THAT(result.err + reason(), IsEmpty());
}

TEST_F(HealthCheck, BadGpusDrainTheNodeWithTheReasons) {
  judge_by({{"cuda:0", {0, "ok"}},
            {"cuda:1", {1, "note: x\n" + kWorse + "\nviolation: another\nFAILED"}},
            {"cuda:2", {1, "gputopo: error: cuInit has not returned for 5 s: the GPU or its driver hangs"}},
            {"cuda:3", {4, "gputopo: error: the GPU is locked by another gputopo process"}}});
  for (const char* context : {"", "SLURM_SCRIPT_CONTEXT=epilog_slurmd"}) {
    EXPECT_EQ(check(context).exit_code, kBad);
    EXPECT_EQ(reason(), "update NodeName=n7 State=DRAIN Reason=gputopo cuda:1: " + kWorse.substr(11) +
                            "; cuda:2: error: cuInit has not returned for 5 s: the GPU or its driver hangs\n");
  }
}

TEST_F(HealthCheck, ABadLinkOrAMissingGpuDrainsTheNode) {
  of_links_ = {1, "violation: node: 7 of 8 expected H200 GPUs are present\nFAILED"};
  judge_by({{"cuda:0", {0, "ok"}}});
  EXPECT_EQ(check().exit_code, kBad);
  EXPECT_EQ(reason(), "update NodeName=n7 State=DRAIN Reason=gputopo node: 7 of 8 expected H200 GPUs are present\n");
  EXPECT_EQ(check("GPUTOPO_LINKS=no").exit_code, kGood);
  of_links_ = {3, "not judged: host0 to gpu1: other traffic disturbed it\nNOT JUDGED"};
  judge_by({{"cuda:0", {0, "ok"}}});
  const CommandResult result = check();
  EXPECT_EQ(result.exit_code, kNotJudged);
  EXPECT_THAT(result.err, HasSubstr("n7: not judged: links: host0 to gpu1: other traffic disturbed it"));
  EXPECT_THAT(reason(), IsEmpty());
}

// None of these answers says that a GPU is good or bad.
TEST_F(HealthCheck, WhatIsNotJudgedIsNeitherGoodNorBad) {
  const std::map<std::string, Answer> unknown = {
      {"held by another user for ever",
       {4, "gputopo: error: the GPU at 0000:0f:00.0 is locked by another gputopo process"}},
      {"interrupted", {130, "note: x"}},
      {"a command line that this version does not know", {2, "gputopo: error: --quick"}},
      {"not installed", {127, "gputopo: not found"}},
      {"disturbed",
       {3, "note: x\nnot judged: l2 latency: disturbed: another program was at work, baseline 281 cycles"}},
  };
  for (const auto& [what, answer] : unknown) {
    judge_by({{"cuda:0", {0, "ok"}}, {"cuda:1", answer}});
    const CommandResult result = check();
    EXPECT_EQ(result.exit_code, kNotJudged) << what;
    EXPECT_THAT(result.err, HasSubstr("n7: not judged: cuda:1: ")) << what;
    EXPECT_THAT(reason(), IsEmpty()) << what;
  }
  judge_by({});
  EXPECT_EQ(check().exit_code, kNotJudged) << "no GPU";
  write_program("gputopo",
                "[ \"$1\" != list ] || { echo 'gputopo: hip: hipInit ended the query process' >&2; exit 3; }");
  EXPECT_THAT(check().err, HasSubstr("n7: not judged: gputopo list: hip: hipInit ended the query process"));
  EXPECT_EQ(check().exit_code, kNotJudged);
  judge_by({{"cuda:0", {0, "ok"}}}, 1);
  EXPECT_THAT(check().err, HasSubstr("cannot be used: error: no report"));
  EXPECT_EQ(check().exit_code, kNotJudged);
  std::filesystem::remove(baseline_);
  EXPECT_EQ(check().exit_code, kNotJudged) << "no baseline";
}

// Slurm drains the node for any other exit code.
TEST_F(HealthCheck, WhatIsNotJudgedDrainsNoNodeInAnEpilog) {
  judge_by({{"cuda:0", {4, "gputopo: error: the GPU is locked by another gputopo process"}}});
  const CommandResult result = check("SLURM_SCRIPT_CONTEXT=epilog_slurmd");
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_THAT(reason(), IsEmpty());
  EXPECT_THAT(read_file(folder_.file("logged")), AllOf(HasSubstr("n7: not judged: cuda:0"), HasSubstr("locked by")));
}

TEST_F(HealthCheck, ANodeThatCannotBeDrainedIsBadNevertheless) {
  judge_by({{"cuda:0", {1, kWorse}}});
  write_program("scontrol", "exit 1");
  const CommandResult result = check();
  EXPECT_EQ(result.exit_code, kBad);
  EXPECT_THAT(result.err, AllOf(HasSubstr("n7: bad: cuda:0: "), HasSubstr("n7: could not be drained")));
}

// Runs the real program.
TEST_F(HealthCheck, OfASimulatedGpu) {
  const std::string baseline = folder_.file("h200.json");
  ASSERT_EQ(test::run_command(GPUTOPO_BINARY " --device sim:h200 --only shared --attribute latency --quiet "
                                             "--json " +
                              baseline)
                .exit_code,
            0);
  const std::string of_node = " 'GPUTOPO_NODE_OPTIONS=--node sim:h200x2' ";
  const std::string with = "GPUTOPO=" GPUTOPO_BINARY " GPUTOPO_BASELINE=" + baseline + of_node + " DEVICES=";
  const CommandResult good = check(with + "sim:h200");
  EXPECT_EQ(good.exit_code, kGood) << good.err;
  EXPECT_EQ(check(with + "sim:a100").exit_code, kNotJudged) << "the baseline is from another kind of GPU";
  EXPECT_EQ(check(with + "sim:none").exit_code, kNotJudged);
  EXPECT_THAT(reason(), IsEmpty());
  EXPECT_EQ(check(with + "sim:h200 'GPUTOPO_NODE_OPTIONS=--node sim:h200x2 --expect 3xH200'").exit_code, kBad);
  EXPECT_THAT(reason(), HasSubstr("Reason=gputopo node: 2 of 3 expected H200 GPUs"));
  nlohmann::json faster = nlohmann::json::parse(read_file(baseline));
  for (const char* key : {"value", "low", "high"}) faster["memory"]["shared"]["latency"][key] = 10;
  write_file(baseline, faster.dump());
  EXPECT_EQ(check(with + "sim:h200").exit_code, kBad);
  EXPECT_THAT(reason(), HasSubstr("Reason=gputopo sim:h200: shared latency: "));
}

// A host without a driver adds nothing to the fleet.
TEST(Measure, FailsWithoutAGpu) {
  const test::TemporaryFolder folder;
  const CommandResult result = test::run_command(
      "GPUTOPO=" GPUTOPO_BINARY " GPUTOPO_LIBCUDA=/no/library GPUTOPO_LIBAMDHIP64=/no/library sh " GPUTOPO_SOURCE_DIR
      "/packaging/cluster/measure.sh " +
      folder.path().string());
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("no GPU can be used"));
  EXPECT_THAT(folder.entries(), IsEmpty());
}

}  // namespace
}  // namespace gputopo
