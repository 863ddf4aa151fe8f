#include "cli/commands.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/attempts.h"
#include "cli/check_formats.h"
#include "cli/discover.h"
#include "cli/fleet.h"
#include "cli/get.h"
#include "cli/node.h"
#include "cli/standard_streams.h"
#include "cli/terminal_style.h"
#include "device/cuda/cuda_device.h"
#include "device/driver/driver_call.h"
#include "file/folder_output.h"
#include "file/output.h"
#include "file/sanitize.h"
#include "gputopo/catalogue.h"
#include "gputopo/error.h"
#include "gputopo/node.h"
#include "gputopo/report.h"
#include "kernel_model/kernel.h"
#include "kernel_model/prediction.h"
#include "kernel_model/prediction_json.h"
#include "kernel_model/prediction_svg.h"
#include "kernel_model/prediction_text.h"
#include "node/judgement.h"
#include "node/node_topology.h"
#include "report/compare/published.h"
#include "report/formats.h"
#include "report/terminal/coverage.h"
#include "report/words/text_table.h"

namespace gputopo::cli {
namespace {

int run_list() {
  std::string problem;
  bool is_whole = true;
  std::vector<DeviceListing> devices = list_devices(problem, &is_whole);
  for (DeviceListing& device : devices) {
    for (std::string* text : {&device.name, &device.pci_address, &device.detail}) *text = sanitized_line(*text);
  }
  const auto column_width = [&](std::string DeviceListing::*field) {
    std::size_t width = 0;
    for (const DeviceListing& device : devices) width = std::max(width, (device.*field).size());
    return width;
  };
  const std::size_t spec_width = column_width(&DeviceListing::spec);
  const std::size_t name_width = column_width(&DeviceListing::name);
  const int columns = terminal_columns(STDOUT_FILENO);
  std::string text;
  for (const DeviceListing& device : devices) {
    const std::string separator = device.pci_address.empty() ? "" : "  ";
    const std::string lead = fmt::format("{:<{}}  {:<{}}  ", device.spec, spec_width, device.name, name_width);
    const std::string rest = device.pci_address + separator + device.detail;
    // In a pipe, each device is one line.
    text += columns > 0 ? report::wrap(lead, rest, columns) : lead + rest + "\n";
  }
  print_result(text);
  const bool is_all_simulated = std::all_of(
      devices.begin(), devices.end(), [](const DeviceListing& device) { return device.spec.starts_with("sim:"); });
  if (problem.empty() && is_all_simulated) {
    problem = "neither NVIDIA's driver nor AMD's HIP runtime reports a GPU; all listed devices are simulated";
  }
  if (!problem.empty()) say(fmt::format("gputopo: {}", problem));
  return is_whole ? kExitComplete : kExitIncomplete;
}

// Adds the file's name to FormatErrors of `read`.
template <typename Read>
auto in_file(const std::string& path, const Read& read) {
  try {
    return read();
  } catch (const FormatError& error) {
    throw FormatError(fmt::format("'{}': {}", path, error.what()));
  }
}

Topology load_report(const std::string& path) {
  return in_file(path, [&] {
    const std::string text = read_file(path);
    if (is_node_json(text)) {
      throw FormatError(
          "this is the report of a node; only 'show', 'check', 'diff', 'get' and 'fleet' accept it; for other "
          "commands, give the report of one of its GPUs");
    }
    return read_json(text);
  });
}

// A report of a GPU or of a node.
struct LoadedReport {
  Topology topology;
  std::optional<NodeReport> node;
};

LoadedReport load_any_report(const std::string& path) {
  return in_file(path, [&]() -> LoadedReport {
    const std::string text = read_file(path);
    if (!is_node_json(text)) return {.topology = read_json(text), .node = {}};
    NodeReport node = read_node_json(text);
    Topology topology = node::as_topology(node);
    return {.topology = std::move(topology), .node = std::move(node)};
  });
}

// A GPU's baseline for a node counts for each of its GPUs.
Topology load_baseline(const std::string& path, const LoadedReport& report) {
  LoadedReport baseline = load_any_report(path);
  if (!report.node || baseline.node) return std::move(baseline.topology);
  return node::as_topology(node::node_of_alike(*report.node, baseline.topology));
}

int run_show(const Options& options) {
  check_targets(options);
  const std::string text = read_file(options.report_path);
  if (is_node_json(text)) return show_node(options, in_file(options.report_path, [&] { return read_node_json(text); }));
  Attempts attempt;
  Topology topology = in_file(options.report_path, [&] { return read_json(text); });
  if (!options.instance_path.empty()) topology = instance_of(topology, load_report(options.instance_path));
  write_files(options, topology, attempt);
  print_report(options, topology, attempt);
  attempt.finish();
  return kExitComplete;
}

// The page must not overwrite one of the reports.
void check_page_target(const Options& options) {
  check_writable(options.diff_html_path);
  for (const std::string& report : options.report_paths) {
    if (!is_same_file(report, options.diff_html_path)) continue;
    throw UsageError(fmt::format("--html would overwrite the report '{}': choose another file", report));
  }
}

int run_diff(const Options& options) {
  if (is_file(options.diff_html_path)) check_page_target(options);
  std::vector<NamedReport> reports;
  for (const std::string& path : options.report_paths) reports.push_back({path, load_any_report(path).topology});
  Attempts attempt;
  if (!options.diff_html_path.empty()) {
    const std::string page = diff_to_html(reports);
    attempt([&] { options.diff_html_path == "-" ? print_result(page) : write_file(options.diff_html_path, page); });
  }
  if (options.diff_as_json) {
    attempt([&] { print_result(diff_to_json(reports)); });
  } else if (options.diff_html_path != "-") {
    attempt([&] { print_result(diff_to_terminal(reports, standard_output_style())); });
  }
  attempt.finish();
  return are_alike(reports) ? kExitComplete : kExitFailure;
}

const CheckFormat& check_format(const std::string& name) {
  return *std::find_if(check_formats().begin(), check_formats().end(),
                       [&](const CheckFormat& format) { return format.name == name; });
}

// Measures only what shows whether a GPU is in order.
int run_quick_check(const Options& options, const Tolerances& tolerances, const Requirements& requirements,
                    const CheckFormat& format) {
  Topology baseline = load_report(options.baseline_path);
  // Only elements of the compute section have cells, so the unmeasured pipes are no violation.
  std::erase_if(baseline.compute, [](const auto& entry) { return entry.first == info_of(AttributeId::kPipes).name; });
  Options quick = options;
  quick.elements = quick_check_cells(baseline);
  quick.quiet = true;
  ExitCode verdict = kExitIncomplete;
  const int code = run_discover(quick, [&](const Topology& report, Attempts& attempt) {
    CheckResult result = check(report, baseline, tolerances, requirements);
    result.notes.push_back(
        fmt::format("quick check: {} values were measured; the other values of the baseline were not checked",
                    quick.elements.size()));
    verdict = exit_code_of(result.outcome(), options.allows_not_judged);
    attempt([&] { print_result(format.render(result, report)); });
  });
  return code == kExitComplete || code == kExitIncomplete ? verdict : code;
}

int run_check(const Options& options) {
  const Tolerances tolerances = parse_tolerances(options.tolerances);
  const Requirements requirements = parse_requirements(options.required);
  const CheckFormat& format = check_format(options.check_format);
  try {
    if (options.quick) return run_quick_check(options, tolerances, requirements, format);
    const LoadedReport report = load_any_report(options.report_path);
    const std::vector<Verdict> verdicts = report.node ? node::verdicts_of(*report.node) : std::vector<Verdict>{};
    const CheckResult result =
        options.baseline_path.empty()
            ? check_alone(report.topology, requirements, verdicts)
            : check(report.topology, load_baseline(options.baseline_path, report), tolerances, requirements, verdicts);
    print_result(format.render(result, report.topology));
    return exit_code_of(result.outcome(), options.allows_not_judged);
  } catch (const UsageError&) {
    throw;
  } catch (const Error& error) {
    // Without the metric, a collector's file would look as if nobody had run the check.
    if (format.render_failure != nullptr) print_result(format.render_failure(error.what()));
    // A GPU that fails is bad. Without a GPU, a report or a baseline, there is nothing to judge.
    const bool is_failure = dynamic_cast<const DeviceError*>(&error) != nullptr;
    if (is_failure && dynamic_cast<const NoGpuError*>(&error) == nullptr) throw;
    say(fmt::format("gputopo: error: nothing was judged: {}", error.what()));
    return exit_code_of(Outcome::kNotJudged, options.allows_not_judged);
  }
}

int run_get(const Options& options) {
  if (!options.report_path.empty())
    return get_of_report(load_any_report(options.report_path).topology, options.value_path);
  return get_of_device(options, [](const Options& request, const std::function<void(const Topology&)>& take) {
    return run_discover(request, [&](const Topology& report, Attempts& attempt) { attempt([&] { take(report); }); });
  });
}

int run_model(const Options& options) {
  const Topology topology = load_report(options.report_path);
  const kernel_model::Kernel kernel =
      in_file(options.kernel_path, [&] { return kernel_model::read_kernel(read_file(options.kernel_path)); });
  const kernel_model::Prediction prediction =
      in_file(options.report_path, [&] { return kernel_model::predict(topology, kernel); });
  if (options.model_svg_path == "-") {
    print_result(prediction_to_svg(prediction));
    return kExitComplete;
  }
  if (!options.model_svg_path.empty()) write_file(options.model_svg_path, prediction_to_svg(prediction));
  print_result(options.model_as_json ? prediction_to_json(prediction) : prediction_to_text(prediction));
  return kExitComplete;
}

// CUDA shows a process at most one MIG instance, selected before CUDA starts.
void show_instance_to_driver(const std::string& device) {
  if (!names_mig_instance(device)) return;
  ::setenv("CUDA_VISIBLE_DEVICES", device.substr(device.find(':') + 1).c_str(), 1);
}

int run_coverage() {
  const int columns = terminal_columns(STDOUT_FILENO);
  print_result(columns > 0 ? report::coverage_table(columns) : coverage_table());
  return kExitComplete;
}

}  // namespace

int run(const Options& options) {
  show_instance_to_driver(options.device);
  switch (options.command) {
    case Command::kList:
      return run_list();
    case Command::kShow:
      return run_show(options);
    case Command::kCoverage:
      return run_coverage();
    case Command::kDiff:
      return run_diff(options);
    case Command::kCheck:
      return run_check(options);
    case Command::kGet:
      return run_get(options);
    case Command::kModel:
      return run_model(options);
    case Command::kNode:
      return run_node(options);
    case Command::kFleet:
      return run_fleet(options.fleet);
    case Command::kPrint:
      print_result(options.text);
      return kExitComplete;
    case Command::kDiscover:
      break;
  }
  return run_discover(options,
                      [&](const Topology& report, Attempts& attempt) { print_report(options, report, attempt); });
}

}  // namespace gputopo::cli
