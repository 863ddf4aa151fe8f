#include "cli/command_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "cli/check_formats.h"
#include "report/formats.h"

namespace gputopo::cli {
namespace {

constexpr std::string_view kNodeExamples =
    "Examples:\n"
    "  gputopo node --json n.json --html n.html   GPUs and links, with a report to keep and a page to read\n"
    "  gputopo node --links-only                  what lies between: some seconds\n"
    "  gputopo node --node sim:h100x8             a simulated node\n"
    "  gputopo show n.json                        the report again\n";

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

void add_seed_option(CLI::App& app, Options& options) {
  app.add_option("--seed", options.seed, "Seed of a simulated device's noise")
      ->check([](const std::string& text) {
        const bool is_number = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
        constexpr std::size_t kMaxDigits = 19;  // surely fit 64 bits
        return is_number && text.size() <= kMaxDigits ? std::string{}
                                                      : "must be a whole number of up to 19 digits, not " + text;
      })
      ->type_name("N")
      ->capture_default_str();
}

// For a command that offers only some report formats.
void add_format_option(CLI::App& app, Options& options, std::string_view name, const char* help) {
  options.output_paths.resize(report::formats().size());
  const auto format = std::ranges::find(report::formats(), name, &report::Format::option);
  const auto index = static_cast<std::size_t>(format - report::formats().begin());
  app.add_option(std::string(name), options.output_paths[index], help)->type_name("FILE");
}

}  // namespace

CLI::Validator one_of(const std::vector<std::string>& values) {
  CLI::Validator is_one = CLI::IsMember(values);
  return is_one.description("");
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

void add_device_option(CLI::App& app, Options& options) {
  app.add_option("--device", options.device,
                 "The device; the first GPU if not given, or a simulated one where there is none")
      ->type_name("cuda:N|cuda:MIG-UUID|hip:N|sim:NAME|sim:FILE.json|replay:PATH");
  add_seed_option(app, options);
}

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
  add_format_option(check, options, "--json", "Keep what --quick measured");
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

void add_node_options(CLI::App& node, Options& options) {
  node.footer(std::string(kNodeExamples));
  node.add_option("--node", options.node, "The node; the GPUs that are here if not given, or a simulated one")
      ->type_name("cuda|hip|sim:NAME|sim:FILE.json|replay:FOLDER");
  add_seed_option(node, options);
  add_selection_options(node, options);
  add_format_option(node, options, "--json", "Write everything as JSON");
  add_format_option(node, options, "--html", "Write a page: the node drawn, and its values");
  add_format_option(node, options, "--svg", "Write the drawing of the node");
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

}  // namespace gputopo::cli
