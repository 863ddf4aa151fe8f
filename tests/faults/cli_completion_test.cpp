// The words that a shell offers after it has read the output of `gputopo completion`. The expected words come from
// the catalogue, so a new element changes no test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "device/sim/machine_file.h"
#include "gputopo/catalogue.h"
#include "gputopo/file.h"
#include "support/command.h"

namespace gputopo {
namespace {

using test::CommandResult;
using test::TemporaryFolder;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAreArray;

using Words = std::vector<std::string>;

const std::string kReport = GPUTOPO_SOURCE_DIR "/tests/reports/h200.json";
const std::string kReportCutShort = kReport.substr(0, kReport.size() - 5);

Words beginning_with(const Words& all, const std::string& beginning) {
  Words some;
  std::ranges::copy_if(all, std::back_inserter(some), [&](const auto& word) { return word.starts_with(beginning); });
  return some;
}

// The words that --only accepts and that begin with `beginning`.
Words elements_beginning_with(const std::string& beginning) {
  Words all = {"instructions", "pipes"};
  for (const ElementInfo& element : element_catalogue()) all.emplace_back(element.name);
  return beginning_with(all, beginning);
}

Words machines_beginning_with(const std::string& beginning) {
  return beginning_with(sim::builtin_machine_names(), beginning);
}

Words with_prefix(const std::string& prefix, Words words) {
  for (std::string& word : words) word.insert(0, prefix);
  return words;
}

std::string common_beginning(const Words& words) {
  std::string common = words.at(0);
  for (const std::string& word : words) {
    common.resize(static_cast<std::size_t>(std::ranges::mismatch(common, word).in1 - common.begin()));
  }
  return common;
}

Words lines_of_output(const std::string& text) {
  std::istringstream stream(text);
  Words lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

bool has_shell(const std::string& shell) { return test::run_command("command -v " + shell).exit_code == 0; }

std::string completion_of(const std::string& shell) {
  return test::run_command(GPUTOPO_BINARY " completion " + shell).out;
}

// ---- every shell ----

class CliCompletion : public ::testing::TestWithParam<std::string> {};

TEST_P(CliCompletion, IsAcceptedByTheShell) {
  const std::string& shell = GetParam();
  if (!has_shell(shell)) GTEST_SKIP() << shell << " is not installed";
  const TemporaryFolder folder;
  write_file(folder.file("completion"), completion_of(shell));
  const CommandResult result = test::run_command(shell + " -n " + folder.file("completion"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Shells, CliCompletion, ::testing::Values("bash", "zsh", "fish"),
                         [](const auto& shell) { return shell.param; });

// ---- bash ----

TEST(CliCompletionBash, CompletesCommandsOptionsAndValues) {
  const auto complete = [](const std::string& words) {
    return test::run_command("bash -c 'source <(" GPUTOPO_BINARY " completion bash); COMP_WORDS=(gputopo " + words +
                             "); COMP_CWORD=$((${#COMP_WORDS[@]}-1)); _gputopo; echo \"${COMPREPLY[@]}\"'")
        .out;
  };
  EXPECT_EQ(complete("cov"), "coverage\n");
  EXPECT_EQ(complete("show --ma"), "--markdown\n");
  EXPECT_EQ(complete("check a --format pro"), "prometheus\n");
  EXPECT_THAT(complete("--only const"), HasSubstr("constant_l15"));
}

// The words that bash offers for a line. bash splits the line at ':' and '='.
Words bash_offers(const std::string& line, const std::string& words) {
  const CommandResult result = test::run_command(
      "PATH=$(dirname " GPUTOPO_BINARY "):$PATH bash -c 'source <(gputopo completion bash); COMP_LINE=\"" + line +
      "\"; COMP_POINT=${#COMP_LINE}; COMP_WORDS=(" + words +
      "); COMP_CWORD=$((${#COMP_WORDS[@]}-1)); _gputopo; printf \"%s\\n\" \"${COMPREPLY[@]}\"'");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, IsEmpty());
  return lines_of_output(result.out);
}

TEST(CliCompletionBash, CompletesWithinListsToTheElementsOfTheCatalogue) {
  int ambiguous = 0;
  for (const char* beginning : {"te", "constant_l1", "constant_l15", "icache", "pip", "inst", "sh"}) {
    const Words expected = with_prefix("l1,", elements_beginning_with(beginning));
    ASSERT_THAT(expected, Not(IsEmpty())) << beginning;
    ambiguous += expected.size() > 1 ? 1 : 0;
    const std::string word = std::string("l1,") + beginning;
    EXPECT_THAT(bash_offers("gputopo --only " + word, "gputopo --only " + word), UnorderedElementsAreArray(expected));
    EXPECT_THAT(bash_offers("gputopo --only=" + word, "gputopo --only = " + word), UnorderedElementsAreArray(expected));
  }
  EXPECT_GE(ambiguous, 2);
}

TEST(CliCompletionBash, CompletesWithinWords) {
  // bash keeps the part before the colon.
  EXPECT_THAT(bash_offers("gputopo --device sim:mi300", "gputopo --device sim : mi300"),
              UnorderedElementsAreArray(machines_beginning_with("mi300")));
  EXPECT_THAT(bash_offers("gputopo --device=sim:", "gputopo --device = sim :"),
              ::testing::IsSupersetOf(machines_beginning_with("")));
  EXPECT_EQ(
      bash_offers("gputopo show a.json --html=" + kReportCutShort, "gputopo show a.json --html = " + kReportCutShort),
      Words{kReport});
  EXPECT_EQ(bash_offers("gputopo --budget ", "gputopo --budget \"\""), Words{""});
  EXPECT_EQ(bash_offers("gputopo check --tolerance ", "gputopo check --tolerance \"\""), Words{""});
  EXPECT_THAT(bash_offers("gputopo --device sim:h200 --ht", "gputopo --device sim : h200 --ht"), Contains("--html"));
}

// ---- fish ----

// The words that fish offers, without their descriptions.
Words fish_offers(const std::string& line) {
  const CommandResult result = test::run_command("PATH=$(dirname " GPUTOPO_BINARY
                                                 "):$PATH fish -c 'gputopo completion fish | source; complete -C \"" +
                                                 line + "\"'");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  Words words = lines_of_output(result.out);
  for (std::string& word : words) word.resize(std::min(word.find('\t'), word.size()));
  return words;
}

TEST(CliCompletionFish, CompletesWithinWords) {
  if (!has_shell("fish")) GTEST_SKIP() << "fish is not installed";
  for (const char* beginning : {"te", "constant_l1", "pip"}) {
    const Words expected = with_prefix("l1,", elements_beginning_with(beginning));
    ASSERT_THAT(expected, Not(IsEmpty())) << beginning;
    EXPECT_THAT(fish_offers(std::string("gputopo --only l1,") + beginning), UnorderedElementsAreArray(expected));
  }
  EXPECT_THAT(fish_offers("gputopo --device sim:mi300"),
              UnorderedElementsAreArray(with_prefix("sim:", machines_beginning_with("mi300"))));
  EXPECT_THAT(fish_offers("gputopo --device=sim:mi300"),
              UnorderedElementsAreArray(with_prefix("--device=sim:", machines_beginning_with("mi300"))));
  EXPECT_THAT(fish_offers("gputopo --budget "), IsEmpty());
}

TEST(CliCompletionFish, CompletesOptions) {
  if (!has_shell("fish")) GTEST_SKIP() << "fish is not installed";
  EXPECT_EQ(fish_offers("gputopo show --mark"), Words{"--markdown"});
}

// ---- zsh ----

struct ZshCompletion {
  Words offered;
  std::string line;  // after the tab key
};

// Presses the tab key at the end of a line, in an interactive shell on a pseudo-terminal.
class CliCompletionZsh : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_shell("zsh")) GTEST_SKIP() << "zsh is not installed";
    write_file(folder_.file("completion"), completion_of("zsh"));
  }
  [[nodiscard]] ZshCompletion complete(const std::string& line) const {
    const CommandResult result = test::run_command("PATH=$(dirname " GPUTOPO_BINARY "):$PATH zsh " GPUTOPO_SOURCE_DIR
                                                   "/tests/support/zsh_completions.zsh " +
                                                   folder_.file("completion") + " '" + line + "'");
    EXPECT_EQ(result.exit_code, 0) << result.err;
    ZshCompletion completion{.offered = lines_of_output(result.out), .line = {}};
    if (completion.offered.empty()) {
      ADD_FAILURE() << "nothing is left of '" << line << "'";
    } else {
      completion.line = completion.offered.back();
      completion.offered.pop_back();
    }
    return completion;
  }
  // A single word is inserted and followed by `behind`; several words are completed to their common prefix.
  void expect_offers(const std::string& before, const std::string& beginning, const Words& expected,
                     const std::string& behind) const {
    SCOPED_TRACE(before + beginning);
    ASSERT_THAT(expected, Not(IsEmpty()));
    const ZshCompletion completion = complete(before + beginning);
    EXPECT_THAT(completion.offered, UnorderedElementsAreArray(expected));
    EXPECT_EQ(completion.line, before + common_beginning(expected) + (expected.size() == 1 ? behind : ""));
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(CliCompletionZsh, CompletesWithinListsToTheWordsOfTheCatalogue) {
  ASSERT_THAT(elements_beginning_with("te"), SizeIs(::testing::Gt(1u)));
  ASSERT_THAT(elements_beginning_with("constant_l15"), SizeIs(1));
  for (const char* beginning : {"te", "constant_l15"}) {
    expect_offers("gputopo --only l1,", beginning, elements_beginning_with(beginning), ",");
    expect_offers("gputopo --only=l1,", beginning, elements_beginning_with(beginning), ",");
  }
  expect_offers("gputopo replay a --attribute size,", "late", beginning_with(element_attribute_names(), "late"), ",");
}

TEST_F(CliCompletionZsh, CompletesWords) {
  expect_offers("gputopo ", "cov", {"coverage"}, " ");
  expect_offers("gputopo --device ", "sim:mi300", with_prefix("sim:", machines_beginning_with("mi300")), " ");
  expect_offers("gputopo check a.json --format ", "pro", {"prometheus"}, " ");
  EXPECT_THAT(complete("gputopo show " + kReportCutShort).line, HasSubstr(kReport));
  const ZshCompletion of_number = complete("gputopo --budget ");
  EXPECT_THAT(of_number.offered, IsEmpty());
  EXPECT_EQ(of_number.line, "gputopo --budget ");
}

}  // namespace
}  // namespace gputopo
