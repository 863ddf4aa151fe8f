#include "cli/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <sstream>
#include <utility>

#include "cli/command_options.h"
#include "cli/completion.h"
#include "cli/fleet_commands.h"
#include "cli/manual.h"
#include "cli/terminal_style.h"
#include "gputopo/error.h"

namespace gputopo::cli {
namespace {

constexpr std::string_view kExamples =
    "Examples:\n"
    "  gputopo                                  measure the first GPU and print a table\n"
    "  gputopo --json a.json --html a.html      the same, and save a report and a page\n"
    "  gputopo --only l1,l2 --attribute size    measure only the sizes of L1 and L2\n"
    "  gputopo show a.json --long               print every value of a saved report\n"
    "  gputopo get l2.size --report a.json      print one value, for scripts\n"
    "  gputopo diff a.json b.json               compare two saved reports\n";

std::string exit_codes_text() {
  std::string text = "Exit codes:\n";
  for (const ExitCodeMeaning& meaning : exit_code_meanings()) {
    text += fmt::format("  {:<4} {}\n", static_cast<int>(meaning.code), meaning.text);
  }
  return text + "\nStandard output carries only the result; progress and errors go to standard error.";
}

void name_defaults(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) name_defaults(*command);
  for (CLI::Option* option : app.get_options()) {
    if (option->get_default_str().empty() || option->get_items_expected_max() == 0) continue;
    option->option_text(fmt::format("{} (default {})", option->get_type_name(), option->get_default_str()));
  }
}

// The command that an error is about.
std::string command_of(const CLI::App& app) {
  std::string command = app.get_name();
  for (const CLI::App* subcommand : app.get_subcommands()) command += " " + subcommand->get_name();
  return command;
}

// `gputopo --json x list` would silently drop --json.
void refuse_stray_options(const CLI::App& app, const CLI::App& subcommand) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() > 0) {
      throw UsageError(fmt::format("{} does not apply to '{}'; see 'gputopo {} --help'", option->get_name(),
                                   subcommand.get_name(), subcommand.get_name()));
    }
  }
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

// The program's commands, and the variables that the command line sets.
struct CommandLine {
  explicit CommandLine(const std::vector<std::string>& arguments);

  Options options;
  std::string recording;  // for replay
  std::string shell;      // for completion
  CLI::App app{"Measures the memory hierarchy of a GPU. Without a command, gputopo runs 'discover'.", "gputopo"};
  CLI::App* list;
  CLI::App* show;
  CLI::App* coverage;
  CLI::App* replay;
  CLI::App* diff;
  CLI::App* check;
  CLI::App* get;
  CLI::App* model;
  CLI::App* node;
  CLI::App* fleet;
  CLI::App* completions;
  CLI::App* man;
};

CommandLine::CommandLine(const std::vector<std::string>& arguments) {
  app.set_version_flag("--version", "gputopo " GPUTOPO_VERSION);
  app.footer(std::string(kExamples) + "\n" + exit_codes_text());
  app.require_subcommand(0, 1);
  const auto add_all_discover_options = [this](CLI::App& command) {
    add_device_option(command, options);
    add_discover_options(command, options);
  };
  add_all_discover_options(app);

  const auto says = [&](const char* word) { return std::ranges::find(arguments, word) != arguments.end(); };
  const bool shows_all = says("man") || says("completion");
  // Adding options takes longer than running many commands, so only requested commands get theirs.
  const auto add = [&](const char* name, const char* description, const std::function<void(CLI::App&)>& add_options) {
    CLI::App* command = app.add_subcommand(name, description);
    if (shows_all || says(name)) add_options(*command);
    return command;
  };
  const auto none = [](CLI::App&) {};

  add("discover", "Measure a device and print a report (the default)", add_all_discover_options);
  list = add("list", "List the GPUs of each backend, and the simulated ones", none);
  show = add("show", "Render a saved JSON report", [this](CLI::App& command) {
    command.add_option("FILE", options.report_path, "Saved JSON report")->required()->type_name("");
    command
        .add_option("--instance", options.instance_path,
                    "Show REPORT, which describes a MIG instance or partition, and derive its missing values from "
                    "FILE, the report of the whole GPU")
        ->type_name("REPORT");
    add_output_options(command, options);
  });
  coverage = add("coverage", "Show which values are measured, reported by the driver, or not applicable", none);
  replay = add("replay", "Analyze a recording again", [this](CLI::App& command) {
    command.add_option("RECORDING", recording, "Recording written by --record")->required()->type_name("");
    add_discover_options(command, options);
  });
  diff = add("diff", "Compare two or more saved reports; the first is the reference",
             [this](CLI::App& command) { add_diff_options(command, options); });
  check = add("check", "Check a saved report or the GPU itself against a baseline, at boot or before a job",
              [this](CLI::App& command) { add_check_options(command, options); });
  get = add("get", "Print one value, for scripts: from a saved report, the cache or a new measurement",
            [this](CLI::App& command) { add_get_options(command, options); });
  model = add("model", "Predict from a saved report how long a kernel takes and what limits it",
              [this](CLI::App& command) { add_model_options(command, options); });
  node = add("node", "Measure every GPU of this node, and the links between them and to the host",
             [this](CLI::App& command) { add_node_options(command, options); });
  fleet = add("fleet", "Merge the reports of many GPUs, and find the outliers",
              [this](CLI::App& command) { add_fleet_commands(command, options.fleet); });
  completions = add("completion", "Print the completion script for a shell", [this](CLI::App& command) {
    command.add_option("SHELL", shell, fmt::format("{}", fmt::join(completion_shells(), ", ")))
        ->required()
        ->check(one_of(completion_shells()))
        ->type_name("");
  });
  man = add("man", "Print the man page", none);
  name_defaults(app);
}

// False if the text of --help or --version is all there is to print.
bool parse(CommandLine& line, int argc, char** argv) {
  try {
    line.app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    std::ostringstream text;
    line.app.exit(success, text, text);
    line.options.command = Command::kPrint;
    const int columns = terminal_columns(STDOUT_FILENO);
    line.options.text = columns > 0 ? wrapped_help(text.str(), columns) : text.str();
    return false;
  } catch (const CLI::ExtrasError&) {
    std::vector<std::string> commands;
    for (const CLI::App* command : line.app.get_subcommands([](CLI::App*) { return true; })) {
      commands.push_back(command->get_name());
    }
    throw UsageError(
        fmt::format("unexpected argument: {}; the commands are {}; lists need commas (--only l1,l2); see '{} --help'",
                    fmt::join(line.app.remaining(true), " "), fmt::join(commands, ", "), command_of(line.app)));
  } catch (const CLI::ParseError& error) {
    throw UsageError(fmt::format("{}; see '{} --help'", one_line(error.what()), command_of(line.app)));
  }
  return true;
}

void refuse_lost_outputs(const Options& options) {
  if (std::ranges::count(options.output_paths, "-") > 1) {
    throw UsageError("only one report can go to standard output: write the others to files");
  }
}

void choose_command(CommandLine& line) {
  const std::pair<const CLI::App*, Command> commands[] = {
      {line.list, Command::kList},   {line.show, Command::kShow},        {line.coverage, Command::kCoverage},
      {line.diff, Command::kDiff},   {line.check, Command::kCheck},      {line.get, Command::kGet},
      {line.model, Command::kModel}, {line.node, Command::kNode},        {line.fleet, Command::kFleet},
      {line.man, Command::kPrint},   {line.completions, Command::kPrint}};
  for (const auto& [app, command] : commands) {
    if (!app->parsed()) continue;
    line.options.command = command;
    refuse_stray_options(line.app, *app);
  }
  if (line.man->parsed()) line.options.text = man_page(line.app, GPUTOPO_VERSION);
  if (line.completions->parsed()) line.options.text = completion(line.app, line.shell);
}

// Determines the report and the baseline.
void settle_check(Options& options) {
  if (options.quick && options.baseline_path.empty()) std::swap(options.report_path, options.baseline_path);
  if (options.quick && options.baseline_path.empty()) {
    throw UsageError("check --quick needs --baseline FILE, the saved report of a known good GPU");
  }
  if (options.quick && !options.report_path.empty()) {
    throw UsageError("check --quick measures the GPU now: leave out --quick to check a saved REPORT");
  }
  if (!options.quick && options.report_path.empty()) {
    throw UsageError("check needs a REPORT, or --quick to measure the GPU now; see 'gputopo check --help'");
  }
}

}  // namespace

ExitCode exit_code_of(Outcome outcome, bool allows_not_judged) {
  if (outcome == Outcome::kBad) return kExitFailure;
  return outcome == Outcome::kGood || allows_not_judged ? kExitComplete : kExitIncomplete;
}

const std::vector<ExitCodeMeaning>& exit_code_meanings() {
  static const std::vector<ExitCodeMeaning> kMeanings = {
      {kExitComplete, "complete; diff: no differences; check: within the tolerances; node, fleet: nothing is bad"},
      {kExitFailure,
       "failure of the device, a file or the whole measurement; diff: differences; check: violations; node: a bad link "
       "or GPU; fleet: outliers"},
      {kExitUsage, "the command line is wrong"},
      {kExitIncomplete,
       "finished, but requested values are missing (standard error names the first); check, "
       "node, fleet: something could not be judged"},
      {kExitBusy,
       "another gputopo process was still measuring this GPU after --max-wait; nothing was measured or checked"},
      {kExitUnavailable, "get: this GPU has no such value; standard error says why"},
      {kExitInterrupted, "interrupted; the values measured so far are reported, marked incomplete"},
  };
  return kMeanings;
}

Options parse_command_line(int argc, char** argv) {
  CommandLine line({argv, argv + argc});
  if (!parse(line, argc, argv)) return line.options;
  Options& options = line.options;
  refuse_lost_outputs(options);
  choose_command(line);
  if (options.report_paths.size() == 1) throw UsageError("diff needs at least two reports; see 'gputopo diff --help'");
  if (options.diff_as_json && options.diff_html_path == "-") {
    throw UsageError("only one report can go to standard output: write --html to a file");
  }
  if (line.check->parsed()) settle_check(options);
  if (options.quick && std::ranges::find(options.output_paths, "-") != options.output_paths.end()) {
    throw UsageError("the result of --quick goes to standard output: write --json to a file");
  }
  if (line.model->parsed() && options.report_path == "-" && options.kernel_path == "-") {
    throw UsageError("the report and the kernel cannot both come from standard input: give a file for one of them");
  }
  if (line.replay->parsed()) {
    if (!options.device.empty()) throw UsageError("--device does not apply to 'replay'; see 'gputopo replay --help'");
    options.device = "replay:" + line.recording;
  }
  return options;
}

}  // namespace gputopo::cli
