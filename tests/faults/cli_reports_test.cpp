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
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string kH200 = GPUTOPO_SOURCE_DIR "/tests/reports/h200.json";
const std::string kAmd = GPUTOPO_SOURCE_DIR "/tests/reports/mi300x.json";

CommandResult without_driver(const std::string& arguments) {
  return test::run_command("GPUTOPO_LIBCUDA=/no/library GPUTOPO_LIBAMDHIP64=/no/library " GPUTOPO_BINARY " " +
                           arguments);
}

CommandResult run_gputopo(const std::string& arguments) { return test::run_command(GPUTOPO_BINARY " " + arguments); }

TEST(CliShow, GivesEveryFormatAsTheDiscoveryDid) {
  const TemporaryFolder folder;
  std::string formats;
  std::string again;
  for (const char* format : {"html", "markdown", "svg", "csv"}) {
    formats += std::string(" --") + format + " " + folder.file(std::string("a.") + format);
    again += std::string(" --") + format + " " + folder.file(std::string("b.") + format);
  }
  const CommandResult measured = run_gputopo(
      "--device sim:gt200 --only texture --attribute size,latency --quiet --json " + folder.file("a.json") + formats);
  ASSERT_EQ(measured.exit_code, 0) << measured.err;
  const CommandResult shown = run_gputopo("show " + folder.file("a.json") + again + " --json " + folder.file("b.json"));
  EXPECT_EQ(shown.out, measured.out);
  for (const char* ending : {"html", "markdown", "svg", "csv", "json"}) {
    EXPECT_EQ(read_file(folder.file(std::string("a.") + ending)), read_file(folder.file(std::string("b.") + ending)))
        << ending;
  }
}

TEST(CliShow, ReadsWhatIsPipedIn) {
  const std::string expected = run_gputopo("show " + kH200).out;
  ASSERT_THAT(expected, HasSubstr("NVIDIA H200"));
  EXPECT_EQ(test::run_command("cat " + kH200 + " | " GPUTOPO_BINARY " show -").out, expected);
  EXPECT_EQ(test::run_command("bash -c '" GPUTOPO_BINARY " show <(cat " + kH200 + ")'").out, expected);
}

TEST(CliShow, RefusesWhatNeverEnds) {
  const TemporaryFolder folder;
  const std::string fifo = folder.file("fifo");
  EXPECT_THAT(run_gputopo("show /dev/zero").err, HasSubstr("cannot read '/dev/zero': it is not a regular file"));
  EXPECT_THAT(run_gputopo("show - </dev/zero").err, HasSubstr("larger than 256 MiB"));
  EXPECT_THAT(test::run_command("mkfifo " + fifo + " && " GPUTOPO_BINARY " replay " + fifo).err,
              HasSubstr("not a regular file"));
}

TEST(CliShow, PrintsOneFormatInsteadOfTheTable) {
  EXPECT_THAT(run_gputopo("show " + kH200 + " --csv -").out, testing::StartsWith("element,attribute"));
  EXPECT_THAT(run_gputopo("show " + kH200 + " --tree").out, HasSubstr("132 x SM"));
  const CommandResult both = run_gputopo("show " + kH200 + " --csv - --svg -");
  EXPECT_EQ(both.exit_code, 2);
  EXPECT_THAT(both.err, HasSubstr("only one report"));
}

TEST(CliShow, FitsEightyColumnsInAPipeAndLeavesNothingOut) {
  const std::string text = test::run_command("COLUMNS= " GPUTOPO_BINARY " show " + kH200).out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  EXPECT_THAT(text, Not(HasSubstr("\033")));
  EXPECT_THAT(text, Not(HasSubstr("did not fit")));
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
  EXPECT_THAT(screen, HasSubstr("use --long or a pipe"));
  std::string whole = on_terminal(" --long");
  std::erase(whole, '\r');
  EXPECT_THAT(whole, HasSubstr("NVIDIA H200"));
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

TEST(CliDiff, SaysWhetherReportsAreAlike) {
  const CommandResult same = run_gputopo("diff " + kH200 + " " + kH200);
  EXPECT_EQ(same.exit_code, 0) << same.out;
  EXPECT_THAT(same.out, HasSubstr("no differences"));
  const CommandResult other = run_gputopo("diff " + kH200 + " " + kAmd);
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_THAT(other.out, HasSubstr("SIMULATED"));
  EXPECT_THAT(run_gputopo("diff " + kH200 + " " + kAmd + " --json").out, HasSubstr("\"alike\": false"));
  EXPECT_EQ(run_gputopo("diff " + kH200).exit_code, 2);
  EXPECT_EQ(run_gputopo("diff " + kH200 + " " + kH200 + " " + kH200).exit_code, 0);
}

TEST(CliCheck, IsAGate) {
  const CommandResult good = run_gputopo("check " + kH200 + " --baseline " + kH200);
  EXPECT_EQ(good.exit_code, 0) << good.out;
  EXPECT_THAT(good.out, testing::StartsWith("ok: NVIDIA H200"));
  const TemporaryFolder folder;
  Topology worse = read_json(read_file(kH200));
  Attribute& latency = get_or_add(worse.memory[0].attributes, "latency");
  latency.value = *latency.number() * 2;
  latency.low = latency.high = latency.number();
  write_file(folder.file("worse.json"), to_json(worse));
  const CommandResult bad = run_gputopo("check " + folder.file("worse.json") + " --baseline " + kH200);
  EXPECT_EQ(bad.exit_code, 1);
  EXPECT_THAT(bad.out, HasSubstr("violation: l1 latency"));
  EXPECT_THAT(run_gputopo("check " + folder.file("worse.json") + " --baseline " + kH200 + " --format json").out,
              HasSubstr("\"ok\": false"));
  EXPECT_EQ(run_gputopo("check " + folder.file("worse.json") + " --baseline " + kH200 + " --tolerance LATENCY=150%")
                .exit_code,
            0);
  EXPECT_EQ(run_gputopo("check " + kH200 + " --baseline " + kH200 + " --tolerance LATENCY=x").exit_code, 2);
}

// Without a baseline, a GPU is judged by the faults that it counts. Its values fail the check only if it asks for them.
TEST(CliCheck, AGpuWithoutABaselineIsJudgedByItsFaultCounters) {
  const TemporaryFolder folder;
  const auto check = [&](const Topology& report, const std::string& options) {
    write_file(folder.file("r.json"), to_json(report));
    return run_gputopo("check " + folder.file("r.json") + options);
  };
  Topology report = read_json(read_file(kH200));
  EXPECT_EQ(check(report, "").exit_code, 3) << "no counter is known";
  get_or_add(report.device, AttributeId::kEccUncorrected) = api_value(std::int64_t{0}, "");
  const CommandResult good = check(report, "");
  EXPECT_EQ(good.exit_code, 0) << good.out;
  EXPECT_THAT(good.out, AllOf(HasSubstr("note: without a baseline, values are not judged: give --baseline FILE"),
                              HasSubstr("0 values compared, 1 fault counters read, 0 violations")));
  for (const char* part : {"values", "faults", "links", "values,links"}) {
    const CommandResult strict = check(report, std::string(" --require ") + part);
    EXPECT_EQ(strict.exit_code, 3) << part;
    EXPECT_THAT(strict.out, HasSubstr("not judged: ")) << part;
  }
  EXPECT_EQ(check(report, " --require gpus").exit_code, 2);
  EXPECT_EQ(check(report, " --require faults --baseline " + kH200).exit_code, 3);
  get_or_add(report.device, AttributeId::kEccUncorrected) = api_value(std::int64_t{1}, "");
  EXPECT_EQ(check(report, "").exit_code, 1);
  EXPECT_EQ(check(report, " --baseline " + kH200).exit_code, 1);
}

// No baseline, no GPU and no result are reasons to judge nothing. They are never good, and never bad.
TEST(CliCheck, FailsClosedWithoutSomethingToJudge) {
  const TemporaryFolder folder;
  write_file(folder.file("cut.json"), read_file(kH200).substr(0, 5000));
  Topology partial = read_json(read_file(kH200));
  get_or_add(partial.memory[0].attributes, "latency") = unavailable(Reason::kTimedOut, "the budget ran out");
  write_file(folder.file("partial.json"), to_json(partial));
  for (const std::string& arguments :
       {kH200 + " --baseline " + kAmd, kH200 + " --baseline /no/such/file",
        kH200 + " --baseline " + folder.file("cut.json"), folder.file("cut.json") + " --baseline " + kH200,
        "--quick --baseline " + kH200, folder.file("partial.json") + " --baseline " + kH200}) {
    const CommandResult result = without_driver("check " + arguments);
    EXPECT_EQ(result.exit_code, 3) << arguments;
    EXPECT_THAT(result.out + result.err, HasSubstr("judged: ")) << arguments;
    EXPECT_EQ(without_driver("check --allow-not-judged " + arguments).exit_code, 0);
  }
  EXPECT_THAT(run_gputopo("check " + folder.file("partial.json") + " --baseline " + kH200 + " --format json").out,
              AllOf(HasSubstr("\"ok\": false"), HasSubstr("\"outcome\": \"not_judged\"")));
}

// A simulated value must not pass for the value of a GPU that is missing.
TEST(CliSimulation, ReplacesNoGpuInWhatJudgesOrAnswersScripts) {
  for (const auto& [command, code] : {std::pair("get shared.size --fresh", 1), std::pair("get shared.size", 1),
                                      std::pair("node --links-only", 3), std::pair("node", 3)}) {
    const CommandResult result = without_driver(command);
    EXPECT_EQ(result.exit_code, code) << command;
    EXPECT_THAT(result.out, IsEmpty()) << command;
    EXPECT_THAT(result.err, HasSubstr("no GPU can be used")) << command;
  }
  const CommandResult plain = without_driver("--only shared --attribute size --quiet");
  EXPECT_EQ(plain.exit_code, 0);
  EXPECT_THAT(plain.out, HasSubstr("SIMULATED"));
}

TEST(CliCheck, QuickMeasuresTheGpuItself) {
  const TemporaryFolder folder;
  const std::string base = folder.file("base.json");
  const std::string measured = folder.file("measured.json");
  ASSERT_EQ(run_gputopo("--device sim:h200 --quiet --only l1,shared --attribute latency,size --json " + base).exit_code,
            0);
  Topology with_pipes = read_json(read_file(base));
  get_or_add(with_pipes.compute, "pipes").value = std::vector<std::string>{"alu: xor.b32"};
  get_or_add(with_pipes.compute, "pipes").source = Source::kMeasured;
  write_file(base, to_json(with_pipes));
  const std::string quick = "check --quick --device sim:h200 --baseline ";
  const CommandResult good = run_gputopo(quick + base + " --json " + measured);
  EXPECT_EQ(good.exit_code, 0) << good.out << good.err;
  EXPECT_THAT(good.out, testing::StartsWith("note: "));
  EXPECT_THAT(good.out,
              HasSubstr("quick check: 2 values were measured; the other values of the baseline were not checked\n"));
  EXPECT_THAT(good.out, HasSubstr("ok: SIMULATED NVIDIA H200"));
  const Topology report = read_json(read_file(measured));
  EXPECT_TRUE(find(report.find_memory("l1")->attributes, "latency")->available());
  EXPECT_FALSE(find(report.find_memory("l1")->attributes, "size")->available());

  Topology better = read_json(read_file(base));
  Attribute& latency = get_or_add(better.memory[0].attributes, "latency");
  latency.value = *latency.number() / 2;
  latency.low = latency.high = latency.number();
  write_file(base, to_json(better));
  const CommandResult bad = run_gputopo(quick + base);
  EXPECT_EQ(bad.exit_code, 1) << bad.err;
  EXPECT_THAT(bad.out, HasSubstr("violation: l1 latency"));
}

TEST(CliCheck, QuickAndAReportExcludeEachOther) {
  EXPECT_THAT(run_gputopo("check --baseline " + kH200).err, HasSubstr("check needs a REPORT, or --quick"));
  EXPECT_EQ(run_gputopo("check --quick " + kH200 + " --baseline " + kH200).exit_code, 2);
  EXPECT_THAT(run_gputopo("check --quick").err, HasSubstr("needs --baseline FILE"));
  EXPECT_THAT(run_gputopo("check " + kH200).out, HasSubstr("give --baseline FILE"));
  EXPECT_THAT(run_gputopo("check --quick --device sim:h200 " + kH200).out, HasSubstr("values compared"))
      << "what is measured has no report but the baseline";
  EXPECT_EQ(run_gputopo("check " + kH200 + " --device sim:h200 --baseline " + kH200).exit_code, 2);
  EXPECT_THAT(run_gputopo("check --quick --json - --baseline " + kH200).err, HasSubstr("write --json to a file"));
}

TEST(CliCheck, AReportThatCannotBeReadIsNotOkInAnyFormat) {
  const CommandResult result = run_gputopo("check /no/such/report --baseline " + kH200 + " --format prometheus");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.out, HasSubstr("\ngputopo_check_ok 0\n"));
  EXPECT_THAT(result.err, HasSubstr("/no/such/report"));
  EXPECT_THAT(run_gputopo("check /no/such/report --baseline " + kH200).out, IsEmpty());
}

TEST(CliCheck, AWrongOptionNamesTheHelpOfTheCommand) {
  const CommandResult result = run_gputopo("check " + kH200 + " --baseline " + kH200 + " --format xml");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("see 'gputopo check --help'"));
  EXPECT_THAT(run_gputopo("--budget -1").err, HasSubstr("see 'gputopo --help'"));
}

TEST(CliCheck, PrometheusAcceptsItsMetrics) {
  if (test::run_command("command -v promtool").exit_code != 0) GTEST_SKIP() << "promtool is not installed";
  // No message; notes and violations; no report at all.
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
  const std::string text = run_gputopo("man").out;
  for (const char* word : {"\\-\\-baseline", "\\-\\-html", ".SS check", ".B 130", "\\fIREPORT\\fR ...",
                           "described above: \\fB\\-\\-help\\fR"}) {
    EXPECT_THAT(text, HasSubstr(word));
  }
  // The names of CLI11's validators must not appear as names of values.
  for (const char* word : {"POSITIVE", "{text,json"}) {
    EXPECT_THAT(text, Not(HasSubstr(word)));
    EXPECT_THAT(run_gputopo("--help").out + run_gputopo("check --help").out, Not(HasSubstr(word)));
  }
}

}  // namespace
}  // namespace gputopo
