// The commands that read saved reports, as a user runs them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gputopo/report.h"
#include "support/command.h"
#include "support/sample_topology.h"

namespace gputopo {
namespace {

using test::CommandResult;
using test::TemporaryFolder;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string kH200 = GPUTOPO_SOURCE_DIR "/tests/reports/h200.json";
const std::string kAmd = GPUTOPO_SOURCE_DIR "/tests/reports/mi300x.json";

CommandResult gputopo_with(const std::string& arguments) { return test::run_command(GPUTOPO_BINARY " " + arguments); }

TEST(CliShow, GivesEveryFormatAsTheDiscoveryDid) {
  const TemporaryFolder folder;
  std::string formats;
  std::string again;
  for (const char* format : {"html", "markdown", "svg", "csv"}) {
    formats += std::string(" --") + format + " " + folder.file(std::string("a.") + format);
    again += std::string(" --") + format + " " + folder.file(std::string("b.") + format);
  }
  const CommandResult measured = gputopo_with(
      "--device sim:gt200 --only texture --attribute size,latency --quiet --json " + folder.file("a.json") + formats);
  ASSERT_EQ(measured.exit_code, 0) << measured.err;
  const CommandResult shown =
      gputopo_with("show " + folder.file("a.json") + again + " --json " + folder.file("b.json"));
  EXPECT_EQ(shown.out, measured.out);
  for (const char* ending : {"html", "markdown", "svg", "csv", "json"}) {
    EXPECT_EQ(read_file(folder.file(std::string("a.") + ending)), read_file(folder.file(std::string("b.") + ending)))
        << ending;
  }
}

TEST(CliShow, ReadsWhatIsPipedIn) {
  const std::string expected = gputopo_with("show " + kH200).out;
  EXPECT_EQ(test::run_command("cat " + kH200 + " | " GPUTOPO_BINARY " show -").out, expected);
  EXPECT_EQ(test::run_command("bash -c '" GPUTOPO_BINARY " show <(cat " + kH200 + ")'").out, expected);
}

TEST(CliShow, RefusesWhatNeverEnds) {
  const TemporaryFolder folder;
  const std::string fifo = folder.file("fifo");
  EXPECT_THAT(gputopo_with("show /dev/zero").err, HasSubstr("cannot read '/dev/zero': it is no regular file"));
  EXPECT_THAT(gputopo_with("show - </dev/zero").err, HasSubstr("larger than 256 MiB"));
  EXPECT_THAT(test::run_command("mkfifo " + fifo + " && " GPUTOPO_BINARY " replay " + fifo).err,
              HasSubstr("no regular file"));
}

TEST(CliShow, PrintsOneFormatInsteadOfTheTable) {
  EXPECT_THAT(gputopo_with("show " + kH200 + " --csv -").out, testing::StartsWith("element,attribute"));
  EXPECT_THAT(gputopo_with("show " + kH200 + " --tree").out, HasSubstr("132 x SM"));
  const CommandResult both = gputopo_with("show " + kH200 + " --csv - --svg -");
  EXPECT_EQ(both.exit_code, 2);
  EXPECT_THAT(both.err, HasSubstr("only one report"));
}

TEST(CliShow, FitsEightyColumnsInAPipeAndLeavesNothingOut) {
  const std::string text = test::run_command("COLUMNS= " GPUTOPO_BINARY " show " + kH200).out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  EXPECT_THAT(text, Not(HasSubstr("\033")));
  EXPECT_THAT(text, Not(HasSubstr("no room here")));
  EXPECT_THAT(text, HasSubstr("far 452.7 cycles"));
}

TEST(CliShow, FitsOneScreenOfATerminalUnlessToldNotTo) {
  if (test::run_command("command -v script").exit_code != 0) GTEST_SKIP() << "script (util-linux) is not installed";
  const auto on_terminal = [](const std::string& options) {
    return test::run_command("TERM=dumb script -qec 'stty cols 80 rows 40; " GPUTOPO_BINARY " show " + kH200 + options +
                             "' /dev/null </dev/null")
        .out;
  };
  const std::string screen = on_terminal("");
  EXPECT_LE(std::count(screen.begin(), screen.end(), '\n'), 40);
  EXPECT_THAT(screen, HasSubstr("--long shows everything"));
  std::string whole = on_terminal(" --long");
  std::erase(whole, '\r');
  EXPECT_EQ(whole, test::run_command("COLUMNS= " GPUTOPO_BINARY " show " + kH200).out);
}

TEST(CliShow, ColoursATerminalUnlessToldNotTo) {
  if (test::run_command("command -v script").exit_code != 0) GTEST_SKIP() << "script (util-linux) is not installed";
  const auto on_terminal = [](const std::string& environment) {
    return test::run_command("env -u NO_COLOR -u TERM " + environment + " script -qec '" GPUTOPO_BINARY " show " +
                             kH200 + "' /dev/null </dev/null")
        .out;
  };
  EXPECT_THAT(on_terminal("TERM=xterm"), HasSubstr("\033["));
  EXPECT_THAT(on_terminal("TERM=xterm NO_COLOR=1"), Not(HasSubstr("\033[")));
  EXPECT_THAT(on_terminal("TERM=dumb"), Not(HasSubstr("\033[")));
  EXPECT_THAT(on_terminal(""), Not(HasSubstr("\033["))) << "no TERM, no colours";
}

TEST(CliShow, AReportOfAnotherVersionSaysWhichItWasMadeWith) {
  const TemporaryFolder folder;
  const std::string old = GPUTOPO_SOURCE_DIR "/tests/reports/version_1.json";
  ASSERT_EQ(gputopo_with("show " + old + " --json " + folder.file("once.json")).exit_code, 0);
  ASSERT_EQ(gputopo_with("show " + folder.file("once.json") + " --json " + folder.file("twice.json")).exit_code, 0);
  EXPECT_THAT(read_file(folder.file("once.json")), HasSubstr("\"upgraded_from\": 1"));
  EXPECT_EQ(read_file(folder.file("once.json")), read_file(folder.file("twice.json")));
  for (const std::string& path : {old, folder.file("twice.json")}) {
    EXPECT_THAT(gputopo_with("show " + path + " --csv -").out, HasSubstr("report,schema_version,1,"));
    EXPECT_THAT(gputopo_with("diff " + path + " " + kAmd).out, HasSubstr("has schema version 1"));
  }
  // The same report: the values are, and so are the notes.
  EXPECT_EQ(gputopo_with("diff " + old + " " + folder.file("twice.json")).exit_code, 0);
}

TEST(CliDiff, SaysWhetherReportsAreAlike) {
  const CommandResult same = gputopo_with("diff " + kH200 + " " + kH200);
  EXPECT_EQ(same.exit_code, 0) << same.out;
  EXPECT_THAT(same.out, HasSubstr("alike"));
  const CommandResult other = gputopo_with("diff " + kH200 + " " + kAmd);
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_THAT(other.out, HasSubstr("SIMULATED"));
  EXPECT_THAT(gputopo_with("diff " + kH200 + " " + kAmd + " --json").out, HasSubstr("\"alike\": false"));
  EXPECT_EQ(gputopo_with("diff " + kH200).exit_code, 2);
  EXPECT_EQ(gputopo_with("diff " + kH200 + " " + kH200 + " " + kH200).exit_code, 0);
}

TEST(CliCheck, IsAGate) {
  const CommandResult good = gputopo_with("check " + kH200 + " --baseline " + kH200);
  EXPECT_EQ(good.exit_code, 0) << good.out;
  EXPECT_THAT(good.out, testing::StartsWith("ok: NVIDIA H200"));
  const TemporaryFolder folder;
  Topology worse = read_json(read_file(kH200));
  Attribute& latency = get_or_add(worse.memory[0].attributes, "latency");
  latency.value = *latency.number() * 2;
  latency.low = latency.high = latency.number();
  write_file(folder.file("worse.json"), to_json(worse));
  const CommandResult bad = gputopo_with("check " + folder.file("worse.json") + " --baseline " + kH200);
  EXPECT_EQ(bad.exit_code, 1);
  EXPECT_THAT(bad.out, HasSubstr("violation: l1 latency"));
  EXPECT_THAT(gputopo_with("check " + folder.file("worse.json") + " --baseline " + kH200 + " --format json").out,
              HasSubstr("\"ok\": false"));
  EXPECT_EQ(gputopo_with("check " + folder.file("worse.json") + " --baseline " + kH200 + " --tolerance LATENCY=150%")
                .exit_code,
            0);
  EXPECT_EQ(gputopo_with("check " + kH200 + " --baseline " + kH200 + " --tolerance LATENCY=x").exit_code, 2);
  EXPECT_EQ(gputopo_with("check " + kH200).exit_code, 2);
  EXPECT_EQ(gputopo_with("check " + kH200 + " --baseline " + kAmd).exit_code, 1);
}

TEST(CliCheck, QuickMeasuresTheGpuItself) {
  const TemporaryFolder folder;
  const std::string base = folder.file("base.json");
  const std::string measured = folder.file("measured.json");
  ASSERT_EQ(
      gputopo_with("--device sim:h200 --quiet --only l1,shared --attribute latency,size --json " + base).exit_code, 0);
  Topology with_pipes = read_json(read_file(base));
  get_or_add(with_pipes.compute, "pipes").value = std::vector<std::string>{"alu: xor.b32"};
  get_or_add(with_pipes.compute, "pipes").source = Source::kMeasured;
  write_file(base, to_json(with_pipes));
  const std::string quick = "check --quick --device sim:h200 --baseline ";
  const CommandResult good = gputopo_with(quick + base + " --json " + measured);
  EXPECT_EQ(good.exit_code, 0) << good.out << good.err;
  EXPECT_THAT(good.out, testing::StartsWith("note: "));
  EXPECT_THAT(good.out, HasSubstr("quick: 2 values were measured, the others of the baseline were not\n"));
  EXPECT_THAT(good.out, HasSubstr("ok: SIMULATED NVIDIA H200"));
  const Topology report = read_json(read_file(measured));
  EXPECT_TRUE(find(report.find_memory("l1")->attributes, "latency")->available());
  EXPECT_FALSE(find(report.find_memory("l1")->attributes, "size")->available());

  Topology better = read_json(read_file(base));
  Attribute& latency = get_or_add(better.memory[0].attributes, "latency");
  latency.value = *latency.number() / 2;
  latency.low = latency.high = latency.number();
  write_file(base, to_json(better));
  const CommandResult bad = gputopo_with(quick + base);
  EXPECT_EQ(bad.exit_code, 1) << bad.err;
  EXPECT_THAT(bad.out, HasSubstr("violation: l1 latency"));
}

TEST(CliCheck, QuickAndAReportExcludeEachOther) {
  EXPECT_THAT(gputopo_with("check --baseline " + kH200).err, HasSubstr("check needs a REPORT, or --quick"));
  EXPECT_EQ(gputopo_with("check --quick " + kH200 + " --baseline " + kH200).exit_code, 2);
  EXPECT_THAT(gputopo_with("check --quick").err, HasSubstr("needs --baseline FILE"));
  EXPECT_THAT(gputopo_with("check " + kH200).err, HasSubstr("needs --baseline FILE"));
  EXPECT_THAT(gputopo_with("check --quick --device sim:h200 " + kH200).out, HasSubstr("values compared"))
      << "what is measured has no report but the baseline";
  EXPECT_EQ(gputopo_with("check " + kH200 + " --device sim:h200 --baseline " + kH200).exit_code, 2);
  EXPECT_THAT(gputopo_with("check --quick --json - --baseline " + kH200).err, HasSubstr("give --json a file"));
}

TEST(CliCheck, AReportThatCannotBeReadIsNotOkInAnyFormat) {
  const CommandResult result = gputopo_with("check /no/such/report --baseline " + kH200 + " --format prometheus");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, HasSubstr("\ngputopo_check_ok 0\n"));
  EXPECT_THAT(result.err, HasSubstr("/no/such/report"));
  EXPECT_THAT(gputopo_with("check /no/such/report --baseline " + kH200).out, IsEmpty());
}

TEST(CliCheck, AWrongOptionNamesTheHelpOfTheCommand) {
  const CommandResult result = gputopo_with("check " + kH200 + " --baseline " + kH200 + " --format xml");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("see 'gputopo check --help'"));
  EXPECT_THAT(gputopo_with("--budget -1").err, HasSubstr("see 'gputopo --help'"));
}

TEST(CliCheck, PrometheusAcceptsItsMetrics) {
  if (test::run_command("command -v promtool").exit_code != 0) GTEST_SKIP() << "promtool is not installed";
  // Nothing to say; notes and violations; no report at all.
  for (const std::string& reports :
       {kH200 + " --baseline " + kH200, kAmd + " --baseline " + kH200, "/no/such/report --baseline " + kH200}) {
    const CommandResult result =
        test::run_command(GPUTOPO_BINARY " check " + reports + " --format prometheus | promtool check metrics");
    EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
    EXPECT_THAT(result.out, IsEmpty());
  }
}

TEST(CliManual, IsAManPage) {
  if (test::run_command("command -v mandoc").exit_code != 0) GTEST_SKIP() << "mandoc is not installed";
  const CommandResult lint = test::run_command(GPUTOPO_BINARY " man | mandoc -T lint -W warning");
  EXPECT_EQ(lint.exit_code, 0) << lint.out;
  const std::string text = gputopo_with("man").out;
  for (const char* word : {"\\-\\-baseline", "\\-\\-html", ".SS check", ".B 130", "\\fIREPORT\\fR ...",
                           "described above: \\fB\\-\\-help\\fR"}) {
    EXPECT_THAT(text, HasSubstr(word));
  }
  // Names of CLI11's checks are no names of values.
  for (const char* word : {"POSITIVE", "{text,json"}) {
    EXPECT_THAT(text, Not(HasSubstr(word)));
    EXPECT_THAT(gputopo_with("--help").out + gputopo_with("check --help").out, Not(HasSubstr(word)));
  }
}

class CliCompletion : public ::testing::TestWithParam<std::string> {};

TEST_P(CliCompletion, IsAcceptedByTheShell) {
  const std::string& shell = GetParam();
  if (test::run_command("command -v " + shell).exit_code != 0) GTEST_SKIP() << shell << " is not installed";
  const TemporaryFolder folder;
  write_file(folder.file("completion"), gputopo_with("completion " + shell).out);
  const CommandResult result = test::run_command(shell + " -n " + folder.file("completion"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Shells, CliCompletion, ::testing::Values("bash", "zsh", "fish"),
                         [](const auto& shell) { return shell.param; });

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

// As bash hands over a line: broken at ':' and '='.
TEST(CliCompletionBash, CompletesWithinWords) {
  const auto complete = [](const std::string& line, const std::string& words) {
    return test::run_command("PATH=$(dirname " GPUTOPO_BINARY
                             "):$PATH bash -c 'source <(gputopo completion bash); COMP_LINE=\"" +
                             line + "\"; COMP_POINT=${#COMP_LINE}; COMP_WORDS=(" + words +
                             "); COMP_CWORD=$((${#COMP_WORDS[@]}-1)); _gputopo; printf \"%s\\n\" \"${COMPREPLY[@]}\"'")
        .out;
  };
  EXPECT_EQ(complete("gputopo --only l1,te", "gputopo --only l1,te"),
            "l1,texture\nl1,texture_tlb_l1\nl1,texture_tlb_l2\n");
  EXPECT_EQ(complete("gputopo --only=l1,te", "gputopo --only = l1,te"),
            "l1,texture\nl1,texture_tlb_l1\nl1,texture_tlb_l2\n");
  // What stands before the colon stays where it is.
  EXPECT_EQ(complete("gputopo --device sim:mi300", "gputopo --device sim : mi300"), "mi300x\n");
  EXPECT_THAT(complete("gputopo --device=sim:", "gputopo --device = sim :"), HasSubstr("\nmi300x\n"));
  EXPECT_EQ(complete("gputopo show a.json --html=" + kH200.substr(0, kH200.size() - 5),
                     "gputopo show a.json --html = " + kH200.substr(0, kH200.size() - 5)),
            kH200 + "\n");
  EXPECT_EQ(complete("gputopo --budget ", "gputopo --budget \"\""), "\n");
  EXPECT_EQ(complete("gputopo check --tolerance ", "gputopo check --tolerance \"\""), "\n");
  EXPECT_THAT(complete("gputopo --device sim:h200 --ht", "gputopo --device sim : h200 --ht"), HasSubstr("--html\n"));
}

TEST(CliCompletionFish, CompletesWithinWords) {
  if (test::run_command("command -v fish").exit_code != 0) GTEST_SKIP() << "fish is not installed";
  const auto complete = [](const std::string& line) {
    return test::run_command("PATH=$(dirname " GPUTOPO_BINARY
                             "):$PATH fish -c 'gputopo completion fish | source; complete -C \"" +
                             line + "\"'")
        .out;
  };
  EXPECT_THAT(complete("gputopo --only l1,te"), testing::StartsWith("l1,texture"));
  EXPECT_THAT(complete("gputopo --device sim:mi300"), HasSubstr("sim:mi300x"));
  EXPECT_THAT(complete("gputopo --device=sim:mi300"), HasSubstr("sim:mi300x"));
  EXPECT_THAT(complete("gputopo --budget "), IsEmpty());
}

TEST(CliCompletionFish, CompletesOptions) {
  if (test::run_command("command -v fish").exit_code != 0) GTEST_SKIP() << "fish is not installed";
  const CommandResult result =
      test::run_command("fish -c '" GPUTOPO_BINARY " completion fish | source; complete -C \"gputopo show --mark\"'");
  EXPECT_THAT(result.out, HasSubstr("--markdown"));
}

// As the tab key does it, in a shell on a pseudo-terminal.
TEST(CliCompletionZsh, CompletesWordsAndWithinThem) {
  if (test::run_command("command -v zsh").exit_code != 0) GTEST_SKIP() << "zsh is not installed";
  const TemporaryFolder folder;
  write_file(folder.file("completion"), gputopo_with("completion zsh").out);
  const auto complete = [&](const std::string& line) {
    const CommandResult result = test::run_command("PATH=$(dirname " GPUTOPO_BINARY "):$PATH zsh " GPUTOPO_SOURCE_DIR
                                                   "/tests/support/zsh_completions.zsh " +
                                                   folder.file("completion") + " '" + line + "'");
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  };
  EXPECT_EQ(complete("gputopo cov"), "coverage\ngputopo coverage \n");
  EXPECT_EQ(complete("gputopo --only l1,te"), "texture\ngputopo --only l1,texture,\n");
  EXPECT_EQ(complete("gputopo --only=l1,te"), "texture\ngputopo --only=l1,texture,\n");
  EXPECT_THAT(complete("gputopo replay a --attribute size,late"), HasSubstr("latency\nlatency_patterns\n"));
  EXPECT_EQ(complete("gputopo --device sim:mi300"), "sim:mi300x\ngputopo --device sim:mi300x \n");
  EXPECT_EQ(complete("gputopo check a.json --format pro"), "prometheus\ngputopo check a.json --format prometheus \n");
  EXPECT_THAT(complete("gputopo show " + kH200.substr(0, kH200.size() - 5)), HasSubstr(kH200));
  EXPECT_EQ(complete("gputopo --budget "), "gputopo --budget \n");
}

}  // namespace
}  // namespace gputopo
