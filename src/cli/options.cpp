#include "cli/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "gputopo/error.h"

namespace gputopo::cli {
namespace {

constexpr const char* kExitCodes =
    "Exit codes:\n"
    "  0    complete\n"
    "  1    failure: the device, a file, or the measurement as a whole\n"
    "  2    the command line is wrong\n"
    "  3    finished, but values that 'gputopo coverage' promises are unavailable\n"
    "  130  interrupted: what was measured until then is reported, marked incomplete\n"
    "\n"
    "Standard output carries only the result; progress and errors go to standard error.";

void add_discover_options(CLI::App& app, Options& options) {
  app.add_option("--only", options.elements, "Memory elements to discover; see 'gputopo coverage'")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("ELEMENT[,ELEMENT]");
  app.add_option("--attribute", options.attributes, "Attributes to discover; see 'gputopo coverage'")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME[,NAME]");
  app.add_option("--json", options.json_path, "Write the report as JSON; '-' is standard output, instead of the table")
      ->type_name("FILE");
  app.add_option("--raw", options.raw_directory, "Write the samples behind the values as CSV files")->type_name("DIR");
  app.add_option("--record", options.record_path, "Keep all that the device answers, for 'gputopo replay'")
      ->type_name("PATH");
  app.add_option("--budget", options.budget_seconds, "Seconds to measure at most")
      ->check(CLI::PositiveNumber)
      ->type_name("SECONDS")
      ->capture_default_str();
  app.add_option("--seed", options.seed, "Seed of a simulated device's noise")->type_name("N")->capture_default_str();
  app.add_flag("--quiet", options.quiet, "No progress");
  app.add_flag("--verbose", options.verbose, "Say on standard error what each probe decides and why");
  app.add_flag("--dump-program", options.dump_program,
               "Print each program and the device's code for it to standard error");
}

void add_device_option(CLI::App& app, Options& options) {
  app.add_option("--device", options.device,
                 "The device; the first GPU if not given, or a simulated one where there is none")
      ->type_name("cuda:N|sim:NAME|sim:FILE.json|replay:PATH");
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

}  // namespace

ParseResult parse_command_line(int argc, char** argv) {
  ParseResult result;
  Options& options = result.options;

  CLI::App app("Finds out what a GPU's memory hierarchy is made of, by measuring it. Without a command: discover.",
               "gputopo");
  app.set_version_flag("--version", "gputopo " GPUTOPO_VERSION);
  app.footer(kExitCodes);
  app.require_subcommand(0, 1);
  add_device_option(app, options);
  add_discover_options(app, options);

  CLI::App* discover = app.add_subcommand("discover", "Measure a device and report it (the default)");
  add_device_option(*discover, options);
  add_discover_options(*discover, options);
  discover->footer(kExitCodes);

  CLI::App* list = app.add_subcommand("list", "List every GPU, by backend, and the simulated ones");

  CLI::App* show = app.add_subcommand("show", "Render a saved JSON report");
  show->add_option("FILE", options.report_path, "What --json wrote")->required()->type_name("");

  CLI::App* coverage = app.add_subcommand("coverage", "Show which values are measured, read or not applicable");

  CLI::App* replay = app.add_subcommand("replay", "Analyse a recording again");
  std::string recording;
  replay->add_option("RECORDING", recording, "What --record wrote")->required()->type_name("");
  add_discover_options(*replay, options);
  replay->footer(kExitCodes);

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    result.exit_code = app.exit(success);
    return result;
  } catch (const CLI::ParseError& error) {
    throw UsageError(one_line(error.what()) + "; see 'gputopo --help'");
  }

  if (list->parsed()) options.command = Command::kList;
  if (show->parsed()) options.command = Command::kShow;
  if (coverage->parsed()) options.command = Command::kCoverage;
  for (const CLI::App* subcommand : {list, show, coverage}) {
    if (subcommand->parsed()) refuse_stray_options(app, *subcommand);
  }
  if (replay->parsed()) {
    if (!options.device.empty()) throw UsageError("--device does not apply to 'replay'; see 'gputopo replay --help'");
    options.device = "replay:" + recording;
  }
  return result;
}

}  // namespace gputopo::cli
