#include "cli/node_gpus.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <sstream>
#include <thread>
#include <utility>

#include "cli/interrupt.h"
#include "cli/standard_streams.h"
#include "cli/work_folder.h"
#include "device/node/recorded_links.h"
#include "gputopo/error.h"
#include "gputopo/file.h"
#include "gputopo/report.h"

extern char** environ;

namespace gputopo::cli {
namespace {

namespace fs = std::filesystem;

std::string file_of(const WorkFolder& folder, std::size_t gpu, const char* kind) {
  return folder.file(fmt::format("gpu{}.{}", gpu, kind));
}

std::vector<std::string> arguments_of(const Options& options, const std::string& spec, std::size_t gpu,
                                      const WorkFolder& folder) {
  std::vector<std::string> arguments{"gputopo",  "--quiet",
                                     "--device", spec,
                                     "--json",   file_of(folder, gpu, "json"),
                                     "--budget", fmt::format("{}", options.budget_seconds)};
  // Simulated GPUs of one node are of one machine, and not the same.
  arguments.insert(arguments.end(), {"--seed", fmt::format("{}", options.seed + gpu)});
  if (options.full) arguments.emplace_back("--full");
  if (options.no_wait) arguments.emplace_back("--no-wait");
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

// One end is held by processes, the other tells when none of them does any more.
class Pipe {
 public:
  Pipe() {
    int ends[2] = {-1, -1};
    if (pipe2(ends, O_CLOEXEC) != 0) {
      throw FileError(
          fmt::format("no pipe could be made ({}): allow more open files (ulimit -n)", std::strerror(errno)));
    }
    read_end_ = ends[0];
    write_end_ = ends[1];
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close(read_end_);
    close_write_end();
  }
  [[nodiscard]] int write_end() const { return write_end_; }
  void close_write_end() {
    if (write_end_ >= 0) close(std::exchange(write_end_, -1));
  }
  void wait_for_end(std::chrono::milliseconds longest) const {
    pollfd hangs_up{.fd = read_end_, .events = 0, .revents = 0};
    poll(&hangs_up, 1, static_cast<int>(longest.count()));
  }

 private:
  int read_end_ = -1;
  int write_end_ = -1;
};

pid_t start(std::vector<std::string> arguments, const std::string& errors, const Pipe& until_open) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  constexpr int kMode = 0600;
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, kMode);
  posix_spawn_file_actions_adddup2(&actions, until_open.write_end(), kDeviceOpenDescriptor);
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  std::string parent = fmt::format("{}={}", kParentVariable, getpid());
  std::vector<char*> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) environment.push_back(*variable);
  environment.insert(environment.end(), {parent.data(), nullptr});
  pid_t process = 0;
  const int status = posix_spawn(&process, "/proc/self/exe", &actions, nullptr, pointers.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  if (status != 0) {
    throw FileError(fmt::format("no process could be started to measure a GPU ({})", std::strerror(status)));
  }
  return process;
}

// The last line that it wrote, which says how it ended.
std::string last_line(const std::string& path) {
  std::istringstream text(read_file(path));
  std::string last;
  for (std::string line; std::getline(text, line);) {
    if (!line.empty()) last = line;
  }
  constexpr std::string_view kPrefix = "gputopo: ";
  if (last.starts_with(kPrefix)) last = last.substr(kPrefix.size());
  constexpr std::string_view kError = "error: ";
  return last.starts_with(kError) ? last.substr(kError.size()) : last;
}

// The processes that run. None outlives this one's interest in it.
class Children {
 public:
  Children() = default;
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;
  ~Children() {
    for (const auto& [process, child] : running_) end(process);
  }

  void start(std::vector<std::string> arguments, const std::string& errors, const Pipe& until_open, std::size_t gpu) {
    running_[gputopo::cli::start(std::move(arguments), errors, until_open)] = {gpu, Clock::now(), false};
  }
  [[nodiscard]] std::size_t count() const { return running_.size(); }

  struct Ended {
    std::size_t gpu = 0;
    int status = 0;
    bool has_hung = false;
  };
  // Those that have ended since. `interrupted`: they are told, once. One that runs for longer than that hangs.
  [[nodiscard]] std::vector<Ended> ended(bool interrupted, double longest_seconds) {
    std::vector<Ended> result;
    for (auto child = running_.begin(); child != running_.end();) {
      int status = 0;
      const bool is_over = waitpid(child->first, &status, WNOHANG) != 0;
      const double seconds = std::chrono::duration<double>(Clock::now() - child->second.begin).count();
      const bool hangs = !is_over && seconds > longest_seconds;
      if (hangs) end(child->first);
      if (!is_over && !hangs && interrupted && !std::exchange(child->second.is_told, true)) kill(child->first, SIGTERM);
      if (is_over || hangs) result.push_back({child->second.gpu, status, hangs});
      child = is_over || hangs ? running_.erase(child) : std::next(child);
    }
    return result;
  }

 private:
  using Clock = std::chrono::steady_clock;
  struct Child {
    std::size_t gpu = 0;
    Clock::time_point begin;
    bool is_told = false;
  };

  // One that waits within the driver's kernel module is not waited for.
  static void end(pid_t process) {
    kill(process, SIGKILL);
    constexpr int kTurns = 20;
    constexpr std::chrono::milliseconds kPause{50};
    for (int turn = 0; turn < kTurns && waitpid(process, nullptr, WNOHANG) == 0; ++turn) {
      std::this_thread::sleep_for(kPause);
    }
  }

  std::map<pid_t, Child> running_;
};

NodeGpuReport take(const NodeGpu& gpu, std::size_t index, const WorkFolder& folder, int status) {
  NodeGpuReport report{.gpu = gpu};
  const std::string path = file_of(folder, index, "json");
  if (fs::exists(path)) {
    try {
      report.report = read_json(read_file(path));
    } catch (const Error& error) {
      report.failure = error.what();
    }
  }
  const bool ended_well =
      WIFEXITED(status) && (WEXITSTATUS(status) == kExitComplete || WEXITSTATUS(status) == kExitIncomplete ||
                            WEXITSTATUS(status) == kExitInterrupted);
  if (report.failure.empty() && !ended_well) report.failure = last_line(file_of(folder, index, "txt"));
  if (report.failure.empty() && !report.report) {
    report.failure = WIFSIGNALED(status) ? fmt::format("its process ended by signal {}", WTERMSIG(status))
                                         : "its process left no report";
  }
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
      children_.start(arguments_of(options_, specs_[next_], next_, folder_), file_of(folder_, next_, "txt"),
                      until_open_, next_);
    }
    if (next_ == specs_.size()) until_open_.close_write_end();
  }

  void take_ended(const OnOver& on_over, bool interrupted) {
    // Beside its budget: a last launch, what a driver compiles, what its own watchdog waits for, others on the GPU.
    constexpr double kPatienceSeconds = 60;
    for (const Children::Ended& child : children_.ended(interrupted, options_.budget_seconds + kPatienceSeconds)) {
      on_over(child.gpu);
      NodeGpuReport& report = reports_[child.gpu];
      report = take(report.gpu, child.gpu, folder_, child.status);
      if (child.has_hung) report.failure = "its process did not come back, and was ended";
      if (!options_.quiet) say(fmt::format("gputopo: gpu{} is measured", child.gpu));
    }
  }

  const Options& options_;
  const std::vector<std::string> specs_;
  std::vector<NodeGpuReport> reports_;
  std::size_t at_once_ = 1;
  const WorkFolder folder_;
  Pipe until_open_;
  Children children_;
  std::size_t next_ = 0;
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
