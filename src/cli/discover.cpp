#include "cli/discover.h"

#include <fmt/format.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/interrupt.h"
#include "cli/outcome.h"
#include "cli/progress.h"
#include "cli/standard_streams.h"
#include "cli/terminal_style.h"
#include "cli/turn.h"
#include "cli/watchdog.h"
#include "device/driver/driver_call.h"
#include "file/folder_output.h"
#include "file/output.h"
#include "file/sanitize.h"
#include "gputopo/discover.h"
#include "gputopo/error.h"
#include "gputopo/node.h"
#include "gputopo/report.h"
#include "report/compare/published.h"
#include "report/formats.h"

namespace gputopo::cli {
namespace {

void announce(const Options& options, const DeviceInfo& info, const std::string& problem) {
  if (options.device.empty() && info.simulated) {
    say(fmt::format("gputopo: no GPU can be used{}{}; measuring a simulated GPU", problem.empty() ? "" : ": ",
                    problem));
  }
  if (options.quiet) return;
  say(fmt::format("gputopo: discovering {}{}", info.name, info.simulated ? " (SIMULATED)" : ""));
}

// Prints every program, and the device's own code if it differs from all earlier code.
class ProgramDump {
 public:
  explicit ProgramDump(Device& device) : device_(device) {}
  void operator()(const Program& program) {
    say_text(to_text(program));
    const std::string code = device_.native_code(program);
    if (!code.empty() && seen_.insert(std::hash<std::string>{}(code)).second) say_text(code);
  }

 private:
  Device& device_;
  std::set<std::size_t> seen_;
};

DiscoverOptions discover_options(const Options& options) {
  DiscoverOptions result;
  result.elements = options.elements;
  result.attributes = options.attributes;
  result.methods = options.methods;
  result.full = options.full;
  result.budget_seconds = options.budget_seconds;
  result.profile = options.profile;
  result.carve_out_bytes = options.carve_out_bytes;
  result.keep_samples = options.keep_samples;
  return result;
}

// Sends log lines the same way as all other messages.
class SayingSink : public spdlog::sinks::base_sink<std::mutex> {
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    say_raw({line.data(), line.size()});
  }
  void flush_() override {}
};

using KnownSoFar = std::function<Topology(const std::string& why)>;

Topology measure(const Options& options, Device& device, const std::atomic<bool>& interrupted, KnownSoFar& known) {
  DiscoverOptions request = discover_options(options);
  request.stop = &interrupted;
  request.on_begin = [&known](KnownSoFar function) { known = std::move(function); };
  // A live line and other output on the same terminal would overwrite each other.
  const bool live = isatty(STDERR_FILENO) != 0 && terminal_knows_escapes() && !options.verbose && !options.dump_program;
  ProgressPrinter progress({live, terminal_columns(STDERR_FILENO), options.budget_seconds});
  if (!options.quiet) request.on_progress = [&](const Progress& step) { progress.show(step); };
  if (options.dump_program) {
    request.on_program = [dump = std::make_shared<ProgramDump>(device)](const Program& program) { (*dump)(program); };
  }
  if (options.verbose) {
    const auto logger = std::make_shared<spdlog::logger>("gputopo", std::make_shared<SayingSink>());
    logger->set_pattern("%H:%M:%S.%e %v");
    request.on_log = [logger](const std::string& line) { logger->info(sanitized_line(line)); };
  }
  return discover(device, request);
}

// Writes all requested outputs: files first, then standard output.
void write_outputs(const Options& options, const Topology& topology, const Recorder* recorder, const Print& print,
                   Attempts& attempt) {
  // All formats show what the JSON contains, so that 'show' later prints the same, byte for byte.
  const Topology report = read_json(to_json(topology));
  write_files(options, report, attempt);
  if (!options.raw_directory.empty()) attempt([&] { write_samples(topology, options.raw_directory); });
  if (recorder != nullptr) attempt([&] { recorder->save(options.record_path); });
  print(report, attempt);
}

// All launches of a discovery use one queue. By default the driver creates eight, which costs a tenth of a second
// between opening and closing the device. It reads this variable once, so this must precede any driver call.
void ask_for_one_queue() { ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "1", 0); }

// Without a GPU, only plain discovery simulates one, so that newcomers see a report. What judges a GPU, or answers a
// script, must not take a simulated value for a real one.
DefaultDevice chosen_device(const Options& options) {
  if (!options.device.empty()) return {options.device, {}};
  DefaultDevice chosen = default_device();
  if (!chosen.spec.empty()) return chosen;
  if (options.command != Command::kDiscover) throw NoGpuError(chosen.problem);
  return {"sim:h200", std::move(chosen.problem)};
}

}  // namespace

bool is_file(const std::string& path) { return !path.empty() && path != "-"; }

void check_targets(const Options& options) {
  std::vector<std::string> files;
  std::ranges::copy_if(options.output_paths, std::back_inserter(files), is_file);
  if (!options.record_path.empty()) files.push_back(options.record_path);
  for (const std::string& path : files) check_writable(path);
  const std::string& raw_directory = options.raw_directory;
  if (!raw_directory.empty()) files.push_back(raw_directory);
  if (const auto twice = one_file_twice(files)) {
    const auto& [first, second] = *twice;
    throw UsageError(first == second ? fmt::format("'{}' is the target of two outputs, so one would be lost: "
                                                   "choose another file",
                                                   first)
                                     : fmt::format("'{}' and '{}' are the same file, so one output would be lost: "
                                                   "choose another file",
                                                   first, second));
  }
  if (!raw_directory.empty()) check_empty_folder(raw_directory);
}

void write_files(const Options& options, const Topology& topology, Attempts& attempt) {
  for (std::size_t i = 0; i < report::formats().size(); ++i) {
    const std::string& path = options.output_paths[i];
    if (is_file(path)) attempt([&] { write_file(path, report::formats()[i].render(topology)); });
  }
}

void print_report(const Options& options, const Topology& topology, Attempts& attempt) {
  const auto printed = std::ranges::find(options.output_paths, "-");
  if (printed != options.output_paths.end()) {
    const report::Format& format = report::formats()[static_cast<std::size_t>(printed - options.output_paths.begin())];
    attempt([&] { print_result(format.render(topology)); });
    return;
  }
  TerminalStyle style = standard_output_style();
  if (options.everything) style.height = 0;
  const auto render = options.published ? report::to_published
                      : options.plot    ? to_plot
                      : options.tree    ? to_tree
                                        : to_terminal;
  attempt([&] { print_result(render(topology, style)); });
}

int run_discover(const Options& options, const Print& print) {
  check_targets(options);
  ask_for_one_queue();
  const std::atomic<bool>& interrupted = catch_interrupts();
  KnownSoFar known;  // valid only during the discovery
  Recorder* recorder = nullptr;
  Watchdog watchdog(options.budget_seconds, interrupted, [&](const std::string& problem) {
    say(fmt::format("gputopo: error: {}", problem));  // first, because the rest may wait for what the call holds
    Attempts attempt;
    if (known) write_outputs(options, known(problem), recorder, print, attempt);
    attempt.finish();
  });
  const DefaultDevice device_to_open = chosen_device(options);
  Turn turn = take_turn(pci_address_of(device_to_open.spec), options.max_wait_seconds, interrupted);
  if (turn.code != kExitComplete) return turn.code;
  watchdog.restart();
  if (options.profile) time_driver_calls();
  std::unique_ptr<Device> device = open_device(device_to_open.spec, options.seed);
  tell_parent_device_is_open();
  if (!options.record_path.empty()) {
    auto wrapped = std::make_unique<Recorder>(std::move(device));
    recorder = wrapped.get();
    device = std::move(wrapped);
  }
  announce(options, device->info(), device_to_open.problem);
  watchdog.restart();
  Topology topology = measure(options, *device, interrupted, known);
  known = [&topology](const std::string&) { return topology; };
  // Output may wait for a reader, so this process first releases the GPU for others.
  watchdog.restart(0);
  recorder != nullptr ? recorder->close() : device.reset();
  known = nullptr;
  turn.end();
  if (options.profile) say_text(profile_text(topology));
  const RunOutcome outcome = judge(topology, interrupted);
  Attempts attempt;
  write_outputs(options, topology, recorder, print, attempt);
  if (!outcome.error.empty()) attempt.finish_without_device(outcome.error);
  attempt.finish();
  if (!outcome.broken_promise.empty()) say(fmt::format("gputopo: {}", outcome.broken_promise));
  return outcome.code;
}

}  // namespace gputopo::cli
