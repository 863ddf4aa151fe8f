#include "cli/node_gpus.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
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
#include "device/node/recorded_links.h"
#include "gputopo/error.h"
#include "gputopo/file.h"
#include "gputopo/report.h"

extern char** environ;

namespace gputopo::cli {
namespace {

namespace fs = std::filesystem;

// Gone with all that is in it.
class WorkFolder {
 public:
  WorkFolder() {
    const char* set = std::getenv("TMPDIR");
    const std::string parent = set != nullptr && *set != '\0' ? set : "/tmp";
    std::string name = parent + "/gputopo-node-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) {
      throw FileError(fmt::format("no folder could be made in '{}' ({}): set TMPDIR to one that can be written", parent,
                                  std::strerror(errno)));
    }
    path_ = name;
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  ~WorkFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  [[nodiscard]] std::string file(std::size_t gpu, const char* kind) const {
    return (path_ / fmt::format("gpu{}.{}", gpu, kind)).string();
  }

 private:
  fs::path path_;
};

std::vector<std::string> arguments_of(const Options& options, const NodeInfo& info, std::size_t gpu,
                                      const WorkFolder& folder) {
  std::vector<std::string> arguments{"gputopo",  "--quiet",
                                     "--device", info.gpus[gpu].spec,
                                     "--json",   folder.file(gpu, "json"),
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

pid_t start(std::vector<std::string> arguments, const std::string& errors) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  constexpr int kMode = 0600;
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, kMode);
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

  void start(std::vector<std::string> arguments, const std::string& errors, std::size_t gpu) {
    running_[gputopo::cli::start(std::move(arguments), errors)] = {gpu, Clock::now(), false};
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
  const std::string path = folder.file(index, "json");
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
  if (report.failure.empty() && !ended_well) report.failure = last_line(folder.file(index, "txt"));
  if (report.failure.empty() && !report.report) {
    report.failure = WIFSIGNALED(status) ? fmt::format("its process ended by signal {}", WTERMSIG(status))
                                         : "its process left no report";
  }
  return report;
}

}  // namespace

std::vector<NodeGpuReport> measure_gpus(const Options& options, const NodeInfo& info,
                                        const std::atomic<bool>& interrupted) {
  // Beside its budget: a last launch, what a driver compiles, what its own watchdog waits for, others on the GPU.
  constexpr double kPatienceSeconds = 60;
  constexpr std::chrono::milliseconds kPause{20};
  const WorkFolder folder;
  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  const std::size_t at_once = options.one_by_one ? 1 : std::min(info.gpus.size(), cores);
  std::vector<NodeGpuReport> reports(info.gpus.size());
  for (std::size_t i = 0; i < reports.size(); ++i) {
    reports[i] = {.gpu = info.gpus[i], .report = std::nullopt, .failure = "interrupted before it was measured"};
  }
  Children children;
  std::size_t next = 0;
  while (true) {
    for (; next < reports.size() && children.count() < at_once && !interrupted; ++next) {
      children.start(arguments_of(options, info, next, folder), folder.file(next, "txt"), next);
    }
    for (const Children::Ended& child : children.ended(interrupted, options.budget_seconds + kPatienceSeconds)) {
      reports[child.gpu] = take(info.gpus[child.gpu], child.gpu, folder, child.status);
      if (child.has_hung) reports[child.gpu].failure = "its process did not come back, and was ended";
      if (!options.quiet) say(fmt::format("gputopo: gpu{} is measured", child.gpu));
    }
    if (children.count() == 0 && (next == reports.size() || interrupted)) return reports;
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace gputopo::cli
