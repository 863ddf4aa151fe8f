#include "cli/node.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "cli/attempts.h"
#include "cli/interrupt.h"
#include "cli/node_gpus.h"
#include "cli/node_judgement.h"
#include "cli/standard_streams.h"
#include "cli/terminal_style.h"
#include "cli/turn.h"
#include "cli/watchdog.h"
#include "device/driver/driver_call.h"
#include "file/digest.h"
#include "file/folder_output.h"
#include "file/host.h"
#include "file/host_hwloc.h"
#include "file/output.h"
#include "gputopo/error.h"
#include "gputopo/file.h"
#include "node/node_health.h"
#include "node/node_svg.h"
#include "node/node_view.h"
#include "report/formats.h"

namespace gputopo::cli {
namespace {

constexpr int kPlainWidth = 100;  // of a table in a file or a pipe

std::string rendered(const NodeReport& report, std::string_view option) {
  if (option == "--json") return node_to_json(report);
  if (option == "--html") return node_to_html(report);
  if (option == "--svg") return node::node_svg(report).text();
  throw UsageError(fmt::format(
      "{} applies only to the report of one GPU; for a node, use --json, --html or --svg, give the report of "
      "one of its GPUs, or measure one GPU with --device",
      option));
}

void write_outputs(const Options& options, const NodeReport& report) {
  bool is_printed = false;
  Attempts attempt;
  for (std::size_t i = 0; i < report::formats().size(); ++i) {
    const std::string& path = options.output_paths[i];
    if (path.empty()) continue;
    is_printed = is_printed || path == "-";
    attempt([&] {
      const std::string text = rendered(report, report::formats()[i].option);
      path == "-" ? print_result(text) : write_file(path, text);
    });
  }
  const int columns = terminal_columns(STDOUT_FILENO);
  if (!is_printed) attempt([&] { print_result(node_to_text(report, columns > 0 ? columns : kPlainWidth)); });
  attempt.finish();
}

// Call it before the measurement, which takes long.
void check_node_targets(const Options& options) {
  std::vector<std::string> files;
  for (const std::string& path : options.output_paths) {
    if (path.empty() || path == "-") continue;
    check_writable(path);
    files.push_back(path);
  }
  if (const auto twice = one_file_twice(files)) {
    throw UsageError(fmt::format("'{}' and '{}' are the same file, so one output would be lost: choose another file",
                                 twice->first, twice->second));
  }
  if (!options.record_path.empty()) {
    check_empty_folder(options.record_path);
    FolderOutput(options.record_path).keep();
  }
}

NodeReport begin_report(const Options& options, const NodeInfo& info) {
  NodeReport report{.generator = "gputopo " GPUTOPO_VERSION,
                    .timestamp = utc_timestamp(),
                    .backend = info.backend,
                    .simulated = info.simulated,
                    .name = info.name,
                    .driver_version = info.driver_version,
                    .numa_nodes = info.numa_nodes,
                    .peers = info.peers};
  // A simulated node has no host, and another seed is another node.
  report.host_id = info.simulated ? digest(fmt::format("{} {}", info.name, options.seed)) : anonymous_host_id();
  report.host_cpu = host_cpu();
  report.os = host_os();
  if (options.with_hwloc) report.hwloc_xml = host_hwloc_xml();
  if (options.with_hwloc && report.hwloc_xml.empty()) {
    report.warnings.emplace_back("hwloc's XML of the host is missing: install libhwloc15 (or hwloc)");
  }
  if (options.with_host_name) report.host_name = host_name();
  return report;
}

void add_gpus(const Options& options, const NodeInfo& info, GpuProcesses& processes,
              const GpuProcesses::OnOver& on_over, NodeReport& report) {
  if (!options.links_only) {
    if (!options.quiet)
      say(fmt::format("gputopo: measuring {}",
                      info.gpus.size() == 1 ? "1 GPU" : fmt::format("{} GPUs", info.gpus.size())));
    report.gpus = processes.finish(info, on_over);
  } else {
    for (const NodeGpu& gpu : info.gpus) report.gpus.push_back({.gpu = gpu});
  }
  for (std::size_t i = 0; i < report.gpus.size(); ++i) {
    NodeGpuReport& gpu = report.gpus[i];
    if (!gpu.failure.empty() || (gpu.report && !gpu.report->complete)) report.complete = false;
    if (info.simulated && gpu.gpu.id.empty()) {
      gpu.gpu.id = digest(fmt::format("{} {} gpu{}", info.name, options.seed, i));
    }
  }
}

// Other gputopo processes on these GPUs would be measured too. The locks are taken in the order of addresses:
// otherwise two node measurements could wait for each other forever.
ExitCode take_turns(const Options& options, const NodeInfo& info, const std::atomic<bool>& interrupted,
                    std::vector<Turn>& turns) {
  std::set<std::string> addresses;
  for (const NodeGpu& gpu : info.gpus) addresses.insert(gpu.pci_address);
  for (const std::string& address : addresses) {
    if (info.backend != "cuda") break;
    turns.push_back(take_turn(address, options.max_wait_seconds, interrupted));
    if (turns.back().code != kExitComplete) return turns.back().code;
  }
  return kExitComplete;
}

std::unique_ptr<Links> opened(const Options& options, const std::atomic<bool>& interrupted) {
  const Watchdog watchdog(
      0, interrupted, [](const std::string& blocked) { say(fmt::format("gputopo: error: {}", blocked)); },
      kPatienceToListSeconds);
  return open_links(options.node, options.seed);
}

// Opens each GPU for the links as soon as its own measurement is over, while other GPUs are still measured.
class Preparation {
 public:
  explicit Preparation(Links& links) : thread_([this, &links] { work(links); }) {}
  Preparation(const Preparation&) = delete;
  Preparation& operator=(const Preparation&) = delete;
  ~Preparation() { end(); }

  void add(std::size_t gpu) {
    const std::scoped_lock lock(mutex_);
    free_.push_back(gpu);
    changed_.notify_all();
  }
  // Waits until all added GPUs are open. The watchdog treats this as a driver call of this thread.
  void wait() {
    end();
    wait_on_behalf_of(call_, [this](std::chrono::milliseconds longest) {
      std::unique_lock lock(mutex_);
      return changed_.wait_for(lock, longest, [this] { return is_over_; });
    });
  }

 private:
  void end() {
    const std::scoped_lock lock(mutex_);
    is_ending_ = true;
    changed_.notify_all();
  }
  void work(Links& links) {
    publish_driver_calls(&call_);
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return is_ending_ || !free_.empty(); });
      if (free_.empty()) break;
      const std::size_t gpu = free_.front();
      free_.pop_front();
      lock.unlock();
      links.prepare(gpu);
      lock.lock();
    }
    is_over_ = true;
    changed_.notify_all();
  }

  LastCall call_ = "";
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::size_t> free_;
  bool is_ending_ = false;
  bool is_over_ = false;
  std::jthread thread_;  // last, because it uses the others
};

// Measures the links under a watchdog. What is known of the GPUs is written whatever happens here.
ExitCode add_links(const Options& options, std::unique_ptr<Links> links, Preparation& preparation,
                   const std::atomic<bool>& interrupted, NodeReport& report) {
  Watchdog watchdog(options.budget_seconds, interrupted, [&](const std::string& problem) {
    say(fmt::format("gputopo: error: {}", problem));
    report.complete = false;
    report.warnings.push_back(problem);
    write_outputs(options, report);
  });
  preparation.wait();
  if (interrupted) return kExitComplete;
  std::vector<Turn> turns;
  if (const ExitCode code = take_turns(options, links->info(), interrupted, turns); code != kExitComplete) {
    report.complete = false;
    report.warnings.emplace_back(
        "the links were not measured: another gputopo process is measuring one of the GPUs; measure again later, or "
        "wait for it with --max-wait SECONDS");
    return code;
  }
  watchdog.restart();
  const auto begin = std::chrono::steady_clock::now();
  NodeOptions node_options{.full = options.full};
  node_options.ended = [&] { return interrupted || seconds_since(begin) > options.budget_seconds; };
  if (!options.quiet) node_options.on_link = [](const std::string& link) { say("gputopo: " + link); };
  measure_links(*links, node_options, report);
  links.reset();  // releases its resources on the GPUs
  return kExitComplete;
}

// A bad part is worse news than a missing one.
ExitCode judged_code(const Options& options, const NodeReport& report) {
  const Outcome outcome = outcome_of(report.verdicts);
  if (outcome == Outcome::kBad) return kExitFailure;
  if (!report.complete) return kExitIncomplete;
  const bool is_only_measured = options.gpus_only && report.verdicts.empty();
  return is_only_measured ? kExitComplete : exit_code_of(outcome, options.allows_not_judged);
}

// With --record, no GPU starts before the node is known: the recording of a wrong guess would be in the way.
std::vector<std::string> gpus_to_begin_with(const Options& options) {
  if (options.links_only || !options.record_path.empty()) return {};
  return likely_gpus(options.node);
}

int measure_node(const Options& options, const Expectation& expectation) {
  const std::atomic<bool>& interrupted = catch_interrupts();
  const auto begin = std::chrono::steady_clock::now();
  GpuProcesses processes(options, gpus_to_begin_with(options), interrupted);
  // Drivers start up for one process after another, and quickly once others are running.
  constexpr std::chrono::seconds kPatienceWithProcesses{10};
  processes.wait_until_open(kPatienceWithProcesses);
  std::unique_ptr<Links> links = opened(options, interrupted);
  const NodeInfo info = links->info();
  if (info.gpus.empty()) {
    throw NoGpuError("the driver shows no GPU to this process (CUDA_VISIBLE_DEVICES may hide the GPUs)");
  }
  std::shared_ptr<LinkAnswers> answers;
  if (!options.record_path.empty()) {
    auto recorder = std::make_unique<LinksRecorder>(std::move(links));
    answers = recorder->answers();
    links = std::move(recorder);
  }
  NodeReport report = begin_report(options, info);
  std::optional<Preparation> preparation;
  if (!options.gpus_only) preparation.emplace(*links);
  const auto on_over = [&](std::size_t gpu) {
    if (preparation && !interrupted) preparation->add(gpu);
  };
  add_gpus(options, info, processes, on_over, report);
  if (!options.links_only) report.gpu_seconds = seconds_since(begin);
  ExitCode code = kExitComplete;
  if (preparation) code = add_links(options, std::move(links), *preparation, interrupted, report);
  if (interrupted) {
    report.complete = false;
    code = kExitInterrupted;
  }
  judge_gpus(report);
  judge_inventory(expectation, report);
  node::add_health(report);
  if (code == kExitComplete) code = judged_code(options, report);
  write_outputs(options, report);
  if (answers) save_links(options.record_path, info, *answers);
  // Not only in the table, which may go to a file.
  if (code == kExitFailure) say("gputopo: bad: " + node::judgement_summary(report));
  if (report.complete && code == kExitIncomplete) say("gputopo: not judged: " + node::judgement_summary(report));
  if (!report.complete && code == kExitIncomplete)
    say("gputopo: part of the node was not measured; the report says which part and why");
  return code;
}

}  // namespace

int run_node(const Options& options) {
  check_node_targets(options);
  const Expectation expectation = read_expectation(options);
  try {
    return measure_node(options, expectation);
  } catch (const NoGpuError& error) {
    return judge_empty_node(options, expectation, error);
  }
}

int show_node(const Options& options, const NodeReport& report) {
  if (!options.instance_path.empty()) throw UsageError("--instance needs the report of one GPU, not of a node");
  write_outputs(options, report);
  return kExitComplete;
}

}  // namespace gputopo::cli
