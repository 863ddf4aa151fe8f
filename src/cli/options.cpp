#include "cli/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <functional>
#include <sstream>
#include <utility>

#include "cli/check_formats.h"
#include "cli/completion.h"
#include "cli/fleet_commands.h"
#include "cli/manual.h"
#include "cli/terminal_style.h"
#include "gputopo/error.h"
#include "report/formats.h"

namespace gputopo::cli {
namespace {

constexpr std::string_view kExamples =
    "Examples:\n"
    "  gputopo                                  measure the first GPU, and print a table\n"
    "  gputopo --json a.json --html a.html      the same, with a report to keep and a page to read\n"
    "  gputopo --only l1,l2 --attribute size    some values of some memories\n"
    "  gputopo show a.json --long               every value of a report\n"
    "  gputopo get l2.size --report a.json      one value, for scripts\n"
    "  gputopo diff a.json b.json               what differs\n";

std::string exit_codes_text() {
  std::string text = "Exit codes:\n";
  for (const ExitCodeMeaning& meaning : exit_code_meanings()) {
    text += fmt::format("  {:<4} {}\n", static_cast<int>(meaning.code), meaning.text);
  }
  return text + "\nStandard output carries only the result; progress and errors go to standard error.";
}

void add_output_options(CLI::App& app, Options& options) {
  options.output_paths.resize(report::formats().size());
  for (std::size_t i = 0; i < report::formats().size(); ++i) {
    app.add_option(report::formats()[i].option, options.output_paths[i], report::formats()[i].help)->type_name("FILE");
  }
  app.add_flag("--tree", options.tree, "Print nested boxes instead of the table");
  app.add_flag("--plot", options.plot, "Print latency over footprint as a plot instead of the table");
  app.add_flag("--published", options.published, "Print what papers and vendors say of this GPU beside its values");
  app.add_flag("--long", options.everything,
               "Print every value below the table, as in a pipe, however small the terminal");
}

std::string check_seconds(const std::string& text) {
  double seconds = 0;
  const bool is_number = CLI::detail::lexical_cast(text, seconds) && std::isfinite(seconds);
  return is_number && seconds >= 0 ? std::string{} : "must be a number of seconds of 0 or more, not " + text;
}

void add_waiting_options(CLI::App& app, Options& options) {
  CLI::Option* const max_wait = app.add_option("--max-wait", options.max_wait_seconds,
                                               "Seconds to wait at most for another gputopo that measures this GPU");
  max_wait->check(check_seconds)->type_name("SECONDS")->capture_default_str();
  app.add_flag_callback(
         "--no-wait", [&options] { options.max_wait_seconds = 0; },
         "End at once where another gputopo measures this GPU")
      ->excludes(max_wait);
}

void add_selection_options(CLI::App& app, Options& options) {
  app.add_option("--only", options.elements,
                 "Memory elements to discover, or attributes of one (l2.ways); see 'gputopo coverage'")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("ELEMENT[,ELEMENT]");
  app.add_option("--attribute", options.attributes, "Attributes to discover; see 'gputopo coverage'")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME[,NAME]");
  app.add_flag("--full", options.full, "Discover also what takes longer; 'gputopo coverage' says what that is");
}

void add_budget_option(CLI::App& app, Options& options) {
  app.add_option("--budget", options.budget_seconds, "Seconds to measure at most")
      ->check([](const std::string& text) {
        double seconds = 0;
        const bool is_number = CLI::detail::lexical_cast(text, seconds) && std::isfinite(seconds);
        return is_number && seconds > 0 ? std::string{} : "must be a number of seconds above 0, not " + text;
      })
      ->type_name("SECONDS")
      ->capture_default_str();
}

void add_discover_options(CLI::App& app, Options& options) {
  add_selection_options(app, options);
  app.add_option("--method", options.methods,
                 "Find sizes by another method too, beside this program's own: change-point, which is MT4G's")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME[,NAME]");
  app.add_option("--carve-out", options.carve_out_bytes,
                 "Bytes of shared memory to carve out of L1 while all is measured; the smallest that do if not given")
      ->type_name("BYTES");
  add_output_options(app, options);
  app.add_option("--raw", options.raw_directory,
                 "Write all samples behind the values as CSV files, into a new or empty folder")
      ->type_name("DIR");
  app.add_option("--record", options.record_path, "Keep all that the device answers, for 'gputopo replay'")
      ->type_name("PATH");
  add_budget_option(app, options);
  add_waiting_options(app, options);
  app.add_flag("--quiet", options.quiet, "No progress");
  app.add_flag("--verbose", options.verbose, "Say on standard error what each probe decides and why");
  app.add_flag("--dump-program", options.dump_program,
               "Print each program and the device's code for it to standard error");
  app.add_flag("--profile", options.profile, "Say on standard error where the time went; --json keeps it too");
}

void add_seed_option(CLI::App& app, Options& options) {
  app.add_option("--seed", options.seed, "Seed of a simulated device's noise")
      ->check([](const std::string& text) {
        const bool is_number = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
        constexpr std::size_t kMaxDigits = 19;  // of what surely fits 64 bits
        return is_number && text.size() <= kMaxDigits ? std::string{}
                                                      : "must be a whole number of up to 19 digits, not " + text;
      })
      ->type_name("N")
      ->capture_default_str();
}

void add_device_option(CLI::App& app, Options& options) {
  app.add_option("--device", options.device,
                 "The device; the first GPU if not given, or a simulated one where there is none")
      ->type_name("cuda:N|cuda:MIG-UUID|hip:N|sim:NAME|sim:FILE.json|replay:PATH");
  add_seed_option(app, options);
}

// What a value may be is in the descriptions: CLI11 would write the name of a check behind that of the value, in the
// help, the man page and the completions.
CLI::Validator one_of(const std::vector<std::string>& values) {
  CLI::Validator is_one = CLI::IsMember(values);
  return is_one.description("");
}

void name_defaults(CLI::App& app) {
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) name_defaults(*command);
  for (CLI::Option* option : app.get_options()) {
    if (option->get_default_str().empty() || option->get_items_expected_max() == 0) continue;
    option->option_text(fmt::format("{} (default {})", option->get_type_name(), option->get_default_str()));
  }
}

// The part of the command line that an error is about.
std::string command_of(const CLI::App& app) {
  std::string command = app.get_name();
  for (const CLI::App* subcommand : app.get_subcommands()) command += " " + subcommand->get_name();
  return command;
}

// `gputopo --json x list` would drop --json silently.
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

// The program's commands, and what the command line fills in.
struct CommandLine {
  explicit CommandLine(const std::vector<std::string>& arguments);

  Options options;
  std::string recording;  // of replay
  std::string shell;      // of completion
  CLI::App app{"Finds out what a GPU's memory hierarchy is made of, by measuring it. Without a command: discover.",
               "gputopo"};
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

void add_diff_options(CLI::App& diff, Options& options) {
  diff.add_option("REPORT", options.report_paths, "What --json wrote, twice or more")->required()->type_name("");
  diff.add_flag("--json", options.diff_as_json, "Print the differences as JSON");
  diff.add_option("--html", options.diff_html_path, "Write a page with the plots side by side; '-' is standard output")
      ->type_name("FILE");
}

void add_check_options(CLI::App& check, Options& options) {
  check.add_option("REPORT", options.report_path, "What --json wrote; with --quick, the baseline")->type_name("");
  CLI::Option* quick =
      check.add_flag("--quick", options.quick,
                     "Instead of a REPORT: measure a GPU now, only its latencies, bandwidths and the size of L2");
  add_device_option(check, options);
  add_waiting_options(check, options);
  options.output_paths.resize(report::formats().size());
  const auto json = std::ranges::find(report::formats(), std::string_view("--json"), &report::Format::option);
  check
      .add_option("--json", options.output_paths[static_cast<std::size_t>(json - report::formats().begin())],
                  "Keep what --quick measured")
      ->type_name("FILE");
  for (const char* of_quick : {"--device", "--seed", "--no-wait", "--max-wait", "--json"})
    check.get_option(of_quick)->needs(quick);
  check.add_option("--baseline", options.baseline_path, "The report of a GPU that is as it should be")
      ->type_name("FILE");
  check
      .add_option("--tolerance", options.tolerances,
                  "How much worse a value may be: LATENCY, BANDWIDTH, SIZE (5% each), OTHER (0%) or an attribute")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME=PERCENT%[,...]");
  std::vector<std::string> format_names;
  for (const CheckFormat& format : check_formats()) format_names.emplace_back(format.name);
  options.check_format = format_names.front();
  check.add_option("--format", options.check_format, "How to report it; prometheus is for a text-file collector")
      ->check(one_of(format_names))
      ->type_name(fmt::format("{}", fmt::join(format_names, "|")))
      ->capture_default_str();
}

void add_get_options(CLI::App& get, Options& options) {
  get.add_option("PATH", options.value_path, "Which: l2.size, compute.sm_count, instructions.fma.f32.latency, ...")
      ->required()
      ->type_name("");
  CLI::Option* report = get.add_option("--report", options.report_path, "Of a saved report, instead of a GPU");
  report->type_name("FILE");
  add_device_option(get, options);
  add_waiting_options(get, options);
  get.add_flag("--fresh", options.fresh, "Measure now, whatever is known of this GPU");
  get.add_option_function<double>(
         "--max-age", [&options](double seconds) { options.max_age_seconds = seconds; },
         "Measure again what was measured longer ago")
      ->check(check_seconds)
      ->type_name("SECONDS");
  for (const char* of_device : {"--device", "--seed", "--no-wait", "--max-wait", "--fresh", "--max-age"}) {
    get.get_option(of_device)->excludes(report);
  }
}

void add_model_options(CLI::App& model, Options& options) {
  model.add_option("REPORT", options.report_path, "What --json wrote")->required()->type_name("");
  model.add_option("--kernel", options.kernel_path, "What the kernel does, as JSON; '-' is standard input")
      ->required()
      ->type_name("FILE");
  CLI::Option* json = model.add_flag("--json", options.model_as_json, "Print the prediction as JSON");
  model
      .add_option("--svg", options.model_svg_path,
                  "Write the roofline with the kernel's point in it as SVG; '-' is standard output")
      ->type_name("FILE")
      ->excludes(json);
}

// Those formats that a node has, too.
void add_node_outputs(CLI::App& node, Options& options) {
  options.output_paths.resize(report::formats().size());
  const std::pair<std::string_view, const char*> kFormats[] = {
      {"--json", "Write everything as JSON"},
      {"--html", "Write a page: the node drawn, and its values"},
      {"--svg", "Write the drawing of the node"}};
  for (const auto& [option, help] : kFormats) {
    const auto format = std::ranges::find(report::formats(), option, &report::Format::option);
    node.add_option(std::string(option),
                    options.output_paths[static_cast<std::size_t>(format - report::formats().begin())], help)
        ->type_name("FILE");
  }
}

constexpr std::string_view kNodeExamples =
    "Examples:\n"
    "  gputopo node --json n.json --html n.html   GPUs and links, with a report to keep and a page to read\n"
    "  gputopo node --links-only                  what lies between: some seconds\n"
    "  gputopo node --node sim:h100x8             a simulated node\n"
    "  gputopo show n.json                        the report again\n";

void add_node_options(CLI::App& node, Options& options) {
  node.footer(std::string(kNodeExamples));
  node.add_option("--node", options.node, "The node; the GPUs that are here if not given, or a simulated one")
      ->type_name("cuda|hip|sim:NAME|sim:FILE.json|replay:FOLDER");
  add_seed_option(node, options);
  add_selection_options(node, options);
  add_node_outputs(node, options);
  node.add_option("--record", options.record_path, "Keep all that the node answers, in a new or empty folder")
      ->type_name("FOLDER");
  CLI::Option* links = node.add_flag("--links-only", options.links_only, "Only what lies between: no reports of GPUs");
  CLI::Option* gpus = node.add_flag("--gpus-only", options.gpus_only, "Only the reports of the GPUs");
  links->excludes(gpus);
  node.add_flag("--one-by-one", options.one_by_one,
                "Measure the GPUs in turn: where they share power or cooling, or to be sure");
  node.add_flag("--host-name", options.with_host_name, "Say in the report what the host is called");
  node.add_flag("--hwloc", options.with_hwloc,
                "Keep in the JSON what hwloc knows of the host, where its library is here");
  add_budget_option(node, options);
  add_waiting_options(node, options);
  node.add_flag("--quiet", options.quiet, "No progress");
}

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
  // Options take longer to add than many a command takes to run: only those of a command that is asked for.
  const auto add = [&](const char* name, const char* description, const std::function<void(CLI::App&)>& add_options) {
    CLI::App* command = app.add_subcommand(name, description);
    if (shows_all || says(name)) add_options(*command);
    return command;
  };
  const auto none = [](CLI::App&) {};

  add("discover", "Measure a device and report it (the default)", add_all_discover_options);
  list = add("list", "List every GPU, by backend, and the simulated ones", none);
  show = add("show", "Render a saved JSON report", [this](CLI::App& command) {
    command.add_option("FILE", options.report_path, "What --json wrote")->required()->type_name("");
    command
        .add_option("--instance", options.instance_path,
                    "Of the whole GPU's report FILE, what the MIG instance or partition has that this report is of")
        ->type_name("REPORT");
    add_output_options(command, options);
  });
  coverage = add("coverage", "Show which values are measured, read or not applicable", none);
  replay = add("replay", "Analyse a recording again", [this](CLI::App& command) {
    command.add_option("RECORDING", recording, "What --record wrote")->required()->type_name("");
    add_discover_options(command, options);
  });
  diff = add("diff", "Compare saved reports with the first of them",
             [this](CLI::App& command) { add_diff_options(command, options); });
  check = add("check", "Check a saved report, or the GPU itself, against a baseline: the gate for a boot or a job",
              [this](CLI::App& command) { add_check_options(command, options); });
  get = add("get", "Print one value, for scripts: of a saved report, or measured and then remembered",
            [this](CLI::App& command) { add_get_options(command, options); });
  model = add("model", "Predict from a saved report how long a kernel takes, and what bounds it",
              [this](CLI::App& command) { add_model_options(command, options); });
  node = add("node", "Measure every GPU of this node, and the links between them and to the host",
             [this](CLI::App& command) { add_node_options(command, options); });
  fleet = add("fleet", "Gather the reports of many GPUs, and find the odd ones",
              [this](CLI::App& command) { add_fleet_commands(command, options.fleet); });
  completions = add("completion", "Print the completions for a shell", [this](CLI::App& command) {
    command.add_option("SHELL", shell, fmt::format("{}", fmt::join(completion_shells(), ", ")))
        ->required()
        ->check(one_of(completion_shells()))
        ->type_name("");
  });
  man = add("man", "Print the man page", none);
  name_defaults(app);
}

// False where there is nothing more to do than to print the text of --help or --version.
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
        fmt::format("not expected: {}; the commands are {}; lists take commas (--only l1,l2); see '{} --help'",
                    fmt::join(line.app.remaining(true), " "), fmt::join(commands, ", "), command_of(line.app)));
  } catch (const CLI::ParseError& error) {
    throw UsageError(fmt::format("{}; see '{} --help'", one_line(error.what()), command_of(line.app)));
  }
  return true;
}

void refuse_lost_outputs(const Options& options) {
  if (std::ranges::count(options.output_paths, "-") > 1) {
    throw UsageError("only one report can go to standard output: give the others a file");
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

// What is checked against what.
void settle_check(Options& options) {
  if (options.quick && options.baseline_path.empty()) std::swap(options.report_path, options.baseline_path);
  if (options.baseline_path.empty()) {
    throw UsageError("check needs --baseline FILE, the report of a GPU that is as it should be");
  }
  if (options.quick && !options.report_path.empty()) {
    throw UsageError("check --quick measures the GPU now: leave out --quick to check a saved REPORT");
  }
  if (!options.quick && options.report_path.empty()) {
    throw UsageError("check needs a REPORT, or --quick to measure the GPU now; see 'gputopo check --help'");
  }
}

}  // namespace

const std::vector<ExitCodeMeaning>& exit_code_meanings() {
  static const std::vector<ExitCodeMeaning> kMeanings = {
      {kExitComplete, "complete; of diff: alike; of check: within the tolerances; of fleet: nothing odd"},
      {kExitFailure,
       "failure: the device, a file, or the measurement as a whole; of diff and check: different; of fleet: something "
       "odd"},
      {kExitUsage, "the command line is wrong"},
      {kExitIncomplete,
       "finished, but values that were asked for could not be found out; standard error names the first"},
      {kExitBusy,
       "another gputopo measures this GPU, and has not ended within --max-wait: nothing was measured or judged"},
      {kExitUnavailable, "of get: there is no such value of this GPU; standard error says why"},
      {kExitInterrupted, "interrupted: what was measured until then is reported, marked incomplete"},
  };
  return kMeanings;
}

Options parse_command_line(int argc, char** argv) {
  CommandLine line({argv, argv + argc});
  if (!parse(line, argc, argv)) return line.options;
  Options& options = line.options;
  refuse_lost_outputs(options);
  choose_command(line);
  if (options.report_paths.size() == 1) throw UsageError("diff needs two reports or more; see 'gputopo diff --help'");
  if (options.diff_as_json && options.diff_html_path == "-") {
    throw UsageError("only one report can go to standard output: give --html a file");
  }
  if (line.check->parsed()) settle_check(options);
  if (options.quick && std::ranges::find(options.output_paths, "-") != options.output_paths.end()) {
    throw UsageError("what --quick finds is on standard output: give --json a file");
  }
  if (line.model->parsed() && options.report_path == "-" && options.kernel_path == "-") {
    throw UsageError("only one of the report and the kernel can come from standard input");
  }
  if (line.replay->parsed()) {
    if (!options.device.empty()) throw UsageError("--device does not apply to 'replay'; see 'gputopo replay --help'");
    options.device = "replay:" + line.recording;
  }
  return options;
}

}  // namespace gputopo::cli
