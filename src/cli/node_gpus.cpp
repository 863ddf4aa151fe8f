#include "cli/node_gpus.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>

#include <algorithm>
#include <sstream>
#include <thread>
#include <utility>

#include "cli/node_children.h"
#include "cli/standard_streams.h"
#include "device/node/recorded_links.h"
#include "gputopo/error.h"
#include "gputopo/report.h"

namespace gputopo::cli {
namespace {

std::vector<std::string> arguments_of(const Options& options, const std::string& spec, std::size_t gpu) {
  std::vector<std::string> arguments{"--quiet",
                                     "--device",
                                     spec,
                                     "--json",
                                     Children::report_path(),
                                     "--budget",
                                     fmt::format("{}", options.budget_seconds)};
  // The simulated GPUs of a node have the same machine but different seeds.
  arguments.insert(arguments.end(), {"--seed", fmt::format("{}", options.seed + gpu)});
  if (options.full) arguments.emplace_back("--full");
  // Less than the time that Children grants beyond the budget.
  constexpr double kMostWaitSeconds = 30;
  arguments.insert(arguments.end(),
                   {"--max-wait", fmt::format("{}", std::min(options.max_wait_seconds, kMostWaitSeconds))});
  if (!options.elements.empty()) {
    arguments.insert(arguments.end(), {"--only", fmt::format("{}", fmt::join(options.elements, ","))});
  }
  if (!options.attributes.empty()) {
    arguments.insert(arguments.end(), {"--attribute", fmt::format("{}", fmt::join(options.attributes, ","))});
  }
  if (!options.record_path.empty()) {
    arguments.insert(arguments.end(), {"--record", node::gpu_recording_path(options.record_path, gpu)});
  }
  return arguments;
}

// The last line of output, which says how the process ended.
std::string last_line(const std::string& messages) {
  std::istringstream text(messages);
  std::string last;
  for (std::string line; std::getline(text, line);) {
    if (!line.empty()) last = line;
  }
  constexpr std::string_view kPrefix = "gputopo: ";
  if (last.starts_with(kPrefix)) last = last.substr(kPrefix.size());
  constexpr std::string_view kError = "error: ";
  return last.starts_with(kError) ? last.substr(kError.size()) : last;
}

NodeGpuReport take(const NodeGpu& gpu, const Children::Ended& child) {
  NodeGpuReport report{.gpu = gpu, .report = std::nullopt, .failure = child.killed};
  std::string unreadable = "its process wrote no report";
  try {
    const std::string text = child.report.text();
    if (!text.empty()) report.report = read_json(text);
  } catch (const Error& error) {
    unreadable = fmt::format("the report of its process cannot be read: {}", error.what());
  }
  const bool ended_well = WIFEXITED(child.status) &&
                          (WEXITSTATUS(child.status) == kExitComplete || WEXITSTATUS(child.status) == kExitIncomplete ||
                           WEXITSTATUS(child.status) == kExitInterrupted);
  if (report.failure.empty() && !ended_well) report.failure = last_line(child.messages.text());
  if (report.failure.empty() && WIFSIGNALED(child.status)) {
    report.failure = fmt::format("its process was terminated by signal {}", WTERMSIG(child.status));
  }
  if (report.failure.empty() && !report.report) report.failure = unreadable;
  return report;
}

}  // namespace

class GpuProcesses::Running {
 public:
  Running(const Options& options, std::vector<std::string> specs)
      : options_(options), specs_(std::move(specs)), reports_(specs_.size()) {
    const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
    at_once_ = options.one_by_one ? 1 : std::min(specs_.size(), cores);
    start();
  }

  [[nodiscard]] const std::vector<std::string>& specs() const { return specs_; }
  void wait_until_open(std::chrono::milliseconds longest) const { until_open_.wait_for_end(longest); }

  [[nodiscard]] std::vector<NodeGpuReport> finish(const std::vector<NodeGpu>& gpus, const OnOver& on_over,
                                                  const std::atomic<bool>& interrupted) {
    for (std::size_t i = 0; i < reports_.size(); ++i) {
      reports_[i] = {.gpu = gpus[i], .report = std::nullopt, .failure = "interrupted before it was measured"};
    }
    while (true) {
      if (!interrupted) start();
      take_ended(on_over, interrupted);
      for (const auto& [gpu, why] : std::exchange(not_started_, {})) {
        reports_[gpu].failure = why;
        on_over(gpu);
      }
      if (children_.count() == 0 && (next_ == specs_.size() || interrupted)) break;
      constexpr std::chrono::milliseconds kPause{20};
      std::this_thread::sleep_for(kPause);
    }
    until_open_.close_write_end();
    return std::move(reports_);
  }

 private:
  void start() {
    for (; next_ < specs_.size() && children_.count() < at_once_; ++next_) {
      try {
        children_.start(arguments_of(options_, specs_[next_], next_), until_open_, next_);
      } catch (const FileError& error) {
        not_started_.emplace_back(next_, error.what());
      }
    }
    if (next_ == specs_.size()) until_open_.close_write_end();
  }

  void take_ended(const OnOver& on_over, bool interrupted) {
    for (const Children::Ended& child : children_.ended(interrupted, options_.budget_seconds)) {
      on_over(child.gpu);
      NodeGpuReport& report = reports_[child.gpu];
      report = take(report.gpu, child);
      if (!options_.quiet) say(fmt::format("gputopo: gpu{} is done", child.gpu));
    }
  }

  const Options& options_;
  const std::vector<std::string> specs_;
  std::vector<NodeGpuReport> reports_;
  std::size_t at_once_ = 1;
  Pipe until_open_;
  Children children_;
  std::size_t next_ = 0;
  std::vector<std::pair<std::size_t, std::string>> not_started_;  // GPU and reason
};

GpuProcesses::GpuProcesses(const Options& options, std::vector<std::string> likely_specs,
                           const std::atomic<bool>& interrupted)
    : options_(options), interrupted_(interrupted) {
  if (!likely_specs.empty()) running_ = std::make_unique<Running>(options_, std::move(likely_specs));
}

GpuProcesses::~GpuProcesses() = default;

void GpuProcesses::wait_until_open(std::chrono::milliseconds longest) const {
  if (running_ != nullptr) running_->wait_until_open(longest);
}

std::vector<NodeGpuReport> GpuProcesses::finish(const NodeInfo& info, const OnOver& on_over) {
  std::vector<std::string> specs;
  for (const NodeGpu& gpu : info.gpus) specs.push_back(gpu.spec);
  if (running_ == nullptr || specs != running_->specs()) {
    running_.reset();
    running_ = std::make_unique<Running>(options_, std::move(specs));
  }
  return running_->finish(info.gpus, on_over, interrupted_);
}

}  // namespace gputopo::cli
