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
    "  gputopo node --json n.json --html n.html   measure GPUs and links; save a report and a page\n"
    "  gputopo node --links-only                  measure only the links, in a few seconds\n"
    "  gputopo node --node sim:h100x8             measure a simulated node\n"
    "  gputopo show n.json                        print the saved report again\n";

std::string check_seconds(const std::string& text) {
  double seconds = 0;
  const bool is_number = CLI::detail::lexical_cast(text, seconds) && std::isfinite(seconds);
  return is_number && seconds >= 0 ? std::string{} : "must be a nonnegative number of seconds, not " + text;
}

void add_waiting_options(CLI::App& app, Options& options) {
  CLI::Option* const max_wait = app.add_option("--max-wait", options.max_wait_seconds,
                                               "Wait at most this many seconds for another gputopo process");
  max_wait->check(check_seconds)->type_name("SECONDS")->capture_default_str();
  app.add_flag_callback(
         "--no-wait", [&options] { options.max_wait_seconds = 0; },
         "Exit at once if another gputopo process is measuring this GPU")
      ->excludes(max_wait);
}

void add_selection_options(CLI::App& app, Options& options) {
  app.add_option("--only", options.elements,
                 "Measure only these elements or attributes (l2, l2.ways); see 'gputopo coverage'")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("ELEMENT[,ELEMENT]");
  app.add_option("--attribute", options.attributes, "Measure only these attributes; see 'gputopo coverage'")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME[,NAME]");
  app.add_flag("--full", options.full,
               "Also measure the values marked 'with --full' in 'gputopo coverage', which take longer");
}

void add_budget_option(CLI::App& app, Options& options) {
  app.add_option("--budget", options.budget_seconds, "Measure for at most this many seconds")
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
  app.add_flag("--tree", options.tree, "Print the memory hierarchy as nested boxes instead of the table");
  app.add_flag("--plot", options.plot, "Print a plot of latency over footprint instead of the table");
  app.add_flag("--published", options.published, "Print published values (papers, vendors) beside those of this GPU");
  app.add_flag("--long", options.everything,
               "List every value below the table, even on a small terminal (default in a pipe)");
}

void add_discover_options(CLI::App& app, Options& options) {
  add_selection_options(app, options);
  app.add_option("--method", options.methods,
                 "Also find sizes by another method; 'change-point' is the one that MT4G uses")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME[,NAME]");
  app.add_option("--carve-out", options.carve_out_bytes,
                 "Shared memory carve-out for the whole run (default: the smallest that each measurement needs)")
      ->type_name("BYTES");
  add_output_options(app, options);
  app.add_option("--raw", options.raw_directory,
                 "Write all samples behind the values as CSV files into a new or empty folder")
      ->type_name("DIR");
  app.add_option("--record", options.record_path, "Record the run for 'gputopo replay'")->type_name("PATH");
  add_budget_option(app, options);
  add_waiting_options(app, options);
  app.add_flag("--quiet", options.quiet, "Do not print progress");
  app.add_flag("--verbose", options.verbose, "Print each probe's decision and its reason to standard error");
  app.add_flag("--dump-program", options.dump_program,
               "Print each measurement program and its device code to standard error");
  app.add_flag("--profile", options.profile, "Print a time profile to standard error, and add it to the JSON report");
}

void add_device_option(CLI::App& app, Options& options) {
  app.add_option("--device", options.device, "Device to measure (default: the first GPU)")
      ->type_name("cuda:N|cuda:MIG-UUID|hip:N|sim:NAME|sim:FILE.json|replay:PATH");
  add_seed_option(app, options);
}

void add_diff_options(CLI::App& diff, Options& options) {
  diff.add_option("REPORT", options.report_paths, "Two or more saved JSON reports")->required()->type_name("");
  diff.add_flag("--json", options.diff_as_json, "Print the differences as JSON");
  diff.add_option("--html", options.diff_html_path, "Write a page with the plots side by side; '-' is standard output")
      ->type_name("FILE");
}

void add_check_options(CLI::App& check, Options& options) {
  check.add_option("REPORT", options.report_path, "Saved JSON report to check; with --quick, the baseline")
      ->type_name("");
  CLI::Option* quick =
      check.add_flag("--quick", options.quick,
                     "Check the GPU itself, not a saved report: measure only latencies, bandwidths and the size of L2");
  add_device_option(check, options);
  add_waiting_options(check, options);
  add_format_option(check, options, "--json", "Save the report of --quick as JSON");
  for (const char* of_quick : {"--device", "--seed", "--no-wait", "--max-wait", "--json"})
    check.get_option(of_quick)->needs(quick);
  check.add_option("--baseline", options.baseline_path, "Saved JSON report of a known good GPU")->type_name("FILE");
  check
      .add_option("--tolerance", options.tolerances,
                  "Tolerances by class or attribute (default: 5% for LATENCY, BANDWIDTH and SIZE, 0% for OTHER)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME=PERCENT%[,...]");
  check
      .add_option("--require", options.required,
                  "What must be judged: values (needs a baseline), faults that the GPU counts, links of a node")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("values|faults|links[,...]");
  check.add_flag("--allow-not-judged", options.allows_not_judged,
                 "Exit with 0 instead of 3 if there are no violations but some values could not be judged");
  std::vector<std::string> format_names;
  for (const CheckFormat& format : check_formats()) format_names.emplace_back(format.name);
  options.check_format = format_names.front();
  check
      .add_option("--format", options.check_format,
                  "Output format; prometheus is for node_exporter's textfile collector")
      ->check(one_of(format_names))
      ->type_name(fmt::format("{}", fmt::join(format_names, "|")))
      ->capture_default_str();
}

void add_get_options(CLI::App& get, Options& options) {
  get.add_option("PATH", options.value_path,
                 "Path of the value: l2.size, compute.sm_count, instructions.fma.f32.latency, ...")
      ->required()
      ->type_name("");
  CLI::Option* report = get.add_option("--report", options.report_path, "Read the value from this saved JSON report");
  report->type_name("FILE");
  add_device_option(get, options);
  add_waiting_options(get, options);
  get.add_flag("--fresh", options.fresh, "Measure now, even if the value is cached");
  get.add_option_function<double>(
         "--max-age", [&options](double seconds) { options.max_age_seconds = seconds; },
         "Measure again if the cached value is older than this")
      ->check(check_seconds)
      ->type_name("SECONDS");
  for (const char* of_device : {"--device", "--seed", "--no-wait", "--max-wait", "--fresh", "--max-age"}) {
    get.get_option(of_device)->excludes(report);
  }
}

void add_model_options(CLI::App& model, Options& options) {
  model.add_option("REPORT", options.report_path, "Saved JSON report")->required()->type_name("");
  model.add_option("--kernel", options.kernel_path, "Description of the kernel as JSON; '-' is standard input")
      ->required()
      ->type_name("FILE");
  CLI::Option* json = model.add_flag("--json", options.model_as_json, "Print the prediction as JSON");
  model
      .add_option("--svg", options.model_svg_path,
                  "Write the roofline, with the kernel as a point, as SVG; '-' is standard output")
      ->type_name("FILE")
      ->excludes(json);
}

void add_node_options(CLI::App& node, Options& options) {
  node.footer(std::string(kNodeExamples));
  node.add_option("--node", options.node, "Node to measure (default: the GPUs of this host)")
      ->type_name("cuda|hip|sim:NAME|sim:FILE.json|replay:FOLDER");
  add_seed_option(node, options);
  add_selection_options(node, options);
  add_format_option(node, options, "--json", "Write everything as JSON");
  add_format_option(node, options, "--html", "Write a page with a drawing of the node and its values");
  add_format_option(node, options, "--svg", "Write a drawing of the node");
  node.add_option("--record", options.record_path, "Record the run in a new or empty folder, for --node replay:FOLDER")
      ->type_name("FOLDER");
  CLI::Option* links =
      node.add_flag("--links-only", options.links_only, "Measure only the links, not the GPUs themselves");
  node.add_option(
          "--expect", options.expected,
          "GPUs that the node should have, such as 8xH200 or 4xA100,1xT4, or an earlier JSON report of the node")
      ->type_name("GPUS|FILE");
  node.add_flag("--allow-not-judged", options.allows_not_judged,
                "Exit with 0 instead of 3 if nothing is bad but some parts could not be judged");
  CLI::Option* gpus = node.add_flag("--gpus-only", options.gpus_only, "Measure only the GPUs, not the links");
  links->excludes(gpus);
  node.add_flag("--one-by-one", options.one_by_one,
                "Measure one GPU at a time, in case the GPUs share power or cooling");
  node.add_flag("--host-name", options.with_host_name, "Include the host's name in the report");
  node.add_flag("--hwloc", options.with_hwloc,
                "Include hwloc's XML of the host in the JSON report (needs hwloc's library)");
  add_budget_option(node, options);
  add_waiting_options(node, options);
  node.add_flag("--quiet", options.quiet, "Do not print progress");
}

}  // namespace gputopo::cli
