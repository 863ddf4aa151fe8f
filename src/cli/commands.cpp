#include "cli/commands.h"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/interrupt.h"
#include "cli/outcome.h"
#include "cli/progress.h"
#include "cli/terminal_style.h"
#include "gputopo/discover.h"
#include "gputopo/error.h"
#include "gputopo/report.h"
#include "report/file.h"

namespace gputopo::cli {
namespace {

void print_result(std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (!written) {
    throw FileError(fmt::format("cannot write to standard output: {}; send it elsewhere", std::strerror(errno)));
  }
}

// ---- discover ----

bool writes_json_to_stdout(const Options& options) { return options.json_path == "-"; }
bool writes_json_file(const Options& options) { return !options.json_path.empty() && !writes_json_to_stdout(options); }

// Better now than after the measurement.
void check_targets(const Options& options) {
  if (writes_json_file(options)) report::check_writable(options.json_path);
  if (!options.record_path.empty()) report::check_writable(options.record_path);
}

void announce(const Options& options, const DeviceInfo& info) {
  if (options.quiet) return;
  if (options.device.empty() && info.simulated) {
    std::string problem;
    (void)list_devices(problem);
    fmt::print(stderr, "gputopo: no GPU can be used here{}{}; this is a simulated one\n", problem.empty() ? "" : ": ",
               problem);
  }
  fmt::print(stderr, "gputopo: discovering {}{}\n", info.name, info.simulated ? " (SIMULATED)" : "");
}

// Prints every program, and the device's own code where it differs from all before.
class ProgramDump {
 public:
  explicit ProgramDump(Device& device) : device_(device) {}
  void operator()(const Program& program) {
    fmt::print(stderr, "{}\n", to_text(program));
    const std::string code = device_.native_code(program);
    if (!code.empty() && seen_.insert(std::hash<std::string>{}(code)).second) fmt::print(stderr, "{}\n", code);
  }

 private:
  Device& device_;
  std::set<std::size_t> seen_;
};

DiscoverOptions discover_options(const Options& options) {
  DiscoverOptions result;
  result.elements = options.elements;
  result.attributes = options.attributes;
  result.budget_seconds = options.budget_seconds;
  result.seed = options.seed;
  result.keep_samples = !options.raw_directory.empty();
  return result;
}

Topology measure(const Options& options, Device& device, const std::atomic<bool>& interrupted) {
  DiscoverOptions request = discover_options(options);
  request.stop = &interrupted;
  // A live line and other output on the same terminal would overwrite each other.
  ProgressPrinter progress(isatty(STDERR_FILENO) != 0 && !options.verbose && !options.dump_program);
  if (!options.quiet) request.on_progress = [&](const Progress& step) { progress.show(step); };
  if (options.dump_program) {
    request.on_program = [dump = std::make_shared<ProgramDump>(device)](const Program& program) { (*dump)(program); };
  }
  if (options.verbose) {
    const auto logger = std::make_shared<spdlog::logger>("gputopo", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    logger->set_pattern("%H:%M:%S.%e %v");
    request.on_log = [logger](const std::string& line) { logger->info(line); };
  }
  return discover(device, request);
}

// The result and the files that were asked for. One that cannot be written does not cost the others: all are tried,
// then the first failure is thrown.
void write_outputs(const Options& options, const Topology& topology, const Recorder* recorder) {
  std::exception_ptr first_failure;
  const auto attempt = [&](const auto& write) {
    try {
      write();
    } catch (const Error&) {
      if (!first_failure) first_failure = std::current_exception();
    }
  };
  attempt([&] {
    print_result(writes_json_to_stdout(options) ? to_json(topology) : to_terminal(topology, standard_output_style()));
  });
  if (writes_json_file(options)) attempt([&] { write_file(options.json_path, to_json(topology)); });
  if (!options.raw_directory.empty()) attempt([&] { write_samples(topology, options.raw_directory); });
  if (recorder != nullptr) attempt([&] { recorder->save(options.record_path); });
  if (first_failure) std::rethrow_exception(first_failure);
}

int run_discover(const Options& options) {
  check_targets(options);
  const std::atomic<bool>& interrupted = catch_interrupts();
  std::unique_ptr<Device> device = open_device(options.device, options.seed);
  Recorder* recorder = nullptr;
  if (!options.record_path.empty()) {
    auto wrapped = std::make_unique<Recorder>(std::move(device));
    recorder = wrapped.get();
    device = std::move(wrapped);
  }
  announce(options, device->info());
  const Topology topology = measure(options, *device, interrupted);
  const Outcome outcome = judge(topology, interrupted);
  write_outputs(options, topology, recorder);
  if (!outcome.error.empty()) throw DeviceError(outcome.error);
  return outcome.code;
}

// ---- the other commands ----

int run_list() {
  std::string problem;
  const std::vector<DeviceListing> devices = list_devices(problem);
  const auto column_width = [&](std::string DeviceListing::*field) {
    std::size_t width = 0;
    for (const DeviceListing& device : devices) width = std::max(width, (device.*field).size());
    return width;
  };
  const std::size_t spec_width = column_width(&DeviceListing::spec);
  const std::size_t name_width = column_width(&DeviceListing::name);
  std::string text;
  for (const DeviceListing& device : devices) {
    const std::string separator = device.pci_address.empty() ? "" : "  ";
    text += fmt::format("{:<{}}  {:<{}}  {}{}{}\n", device.spec, spec_width, device.name, name_width,
                        device.pci_address, separator, device.detail);
  }
  print_result(text);
  if (!problem.empty()) fmt::print(stderr, "gputopo: {}\n", problem);
  return kExitComplete;
}

int run_show(const Options& options) {
  try {
    print_result(to_terminal(read_json(read_file(options.report_path)), standard_output_style()));
  } catch (const FormatError& error) {
    throw FormatError(fmt::format("'{}': {}", options.report_path, error.what()));
  }
  return kExitComplete;
}

int run_coverage() {
  print_result(coverage_table());
  return kExitComplete;
}

}  // namespace

int run(const Options& options) {
  switch (options.command) {
    case Command::kList:
      return run_list();
    case Command::kShow:
      return run_show(options);
    case Command::kCoverage:
      return run_coverage();
    case Command::kDiscover:
      break;
  }
  return run_discover(options);
}

}  // namespace gputopo::cli
