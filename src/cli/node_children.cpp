#include "cli/node_children.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <iterator>
#include <optional>
#include <thread>
#include <utility>

#include "cli/interrupt.h"
#include "cli/watchdog.h"
#include "file/descriptor_io.h"
#include "file/limits.h"
#include "gputopo/error.h"

extern char** environ;

namespace gputopo::cli {
namespace {

constexpr int kReportDescriptor = 4;     // in a child
constexpr int kFirstOwnDescriptor = 16;  // in this process: above the descriptors that a child receives

// The same file with a number that no child uses for another file.
int moved_up(int fd) {
  if (fd < 0) return fd;
  const int higher = fcntl(fd, F_DUPFD_CLOEXEC, kFirstOwnDescriptor);
  const int error = errno;
  close(fd);
  errno = error;
  return higher;
}

[[noreturn]] void fail_to_open(const char* what) {
  throw FileError(
      fmt::format("cannot create a {} ({}): allow more open files (ulimit -n)", what, std::strerror(errno)));
}

// Sends to the process and its descendants: each child leads its own process group.
void send(pid_t child, int signal) { kill(-child, signal); }

// Waits for killed processes, but not for one that is stuck in the driver's kernel module.
void reap(std::vector<pid_t> killed) {
  constexpr int kTurns = 20;
  constexpr std::chrono::milliseconds kPause{50};
  for (int turn = 0; turn < kTurns; ++turn) {
    std::erase_if(killed, [](pid_t process) { return waitpid(process, nullptr, WNOHANG) != 0; });
    if (killed.empty()) return;
    std::this_thread::sleep_for(kPause);
  }
}

// The exit status; nothing while the process runs. `is_stopped` is updated.
std::optional<int> status_of(pid_t process, bool& is_stopped) {
  int status = 0;
  for (pid_t changed = 0; (changed = waitpid(process, &status, WNOHANG | WUNTRACED | WCONTINUED)) != 0;) {
    if (changed < 0 && errno == EINTR) continue;
    if (changed < 0 || WIFEXITED(status) || WIFSIGNALED(status)) return status;
    is_stopped = WIFSTOPPED(status);
  }
  return std::nullopt;
}

class SpawnSettings {
 public:
  SpawnSettings() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
  ~SpawnSettings() {
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
  }
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Pipe::Pipe() {
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) fail_to_open("pipe");
  read_end_ = moved_up(ends[0]);
  write_end_ = moved_up(ends[1]);
  if (read_end_ < 0 || write_end_ < 0) fail_to_open("pipe");
}

Pipe::~Pipe() {
  close(read_end_);
  close_write_end();
}

void Pipe::close_write_end() {
  if (write_end_ >= 0) close(std::exchange(write_end_, -1));
}

void Pipe::wait_for_end(std::chrono::milliseconds longest) const {
  pollfd hangs_up{.fd = read_end_, .events = 0, .revents = 0};
  poll(&hangs_up, 1, static_cast<int>(longest.count()));
}

MemoryFile::MemoryFile(const char* name)
    : file_(std::make_shared<const OpenFile>(moved_up(memfd_create(name, MFD_CLOEXEC)))) {
  if (!file_->is_open()) fail_to_open("temporary file in memory");
}

std::string MemoryFile::text() const {
  lseek(fd(), 0, SEEK_SET);
  return read_all(fd(), "output of the process that measures the GPU", limits::kMaxInputBytes);
}

Children::~Children() {
  std::vector<pid_t> killed;
  for (const auto& [process, child] : running_) {
    send(process, SIGKILL);
    killed.push_back(process);
  }
  reap(std::move(killed));
}

std::string Children::report_path() { return fmt::format("/dev/fd/{}", kReportDescriptor); }

void Children::start(std::vector<std::string> arguments, const Pipe& until_open, std::size_t gpu) {
  Child child{.gpu = gpu, .report = MemoryFile("report"), .messages = MemoryFile("messages")};
  SpawnSettings settings;
  posix_spawn_file_actions_addopen(&settings.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&settings.actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&settings.actions, child.messages.fd(), STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&settings.actions, until_open.write_end(), kDeviceOpenDescriptor);
  posix_spawn_file_actions_adddup2(&settings.actions, child.report.fd(), kReportDescriptor);
  // A terminal's Ctrl-C reaches only this process, which tells its children: two would end them without a report.
  posix_spawnattr_setflags(&settings.attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&settings.attributes, 0);
  arguments.insert(arguments.begin(), "gputopo");
  std::vector<std::string> environment = {fmt::format("{}={}", kParentVariable, getpid())};
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    environment.emplace_back(*variable);
  }
  pid_t process = 0;
  const int status = posix_spawn(&process, "/proc/self/exe", &settings.actions, &settings.attributes,
                                 pointers_to(arguments).data(), pointers_to(environment).data());
  if (status != 0) {
    throw FileError(fmt::format("cannot start a process to measure a GPU ({}): allow more processes (ulimit -u)",
                                std::strerror(status)));
  }
  running_.emplace(process, std::move(child));
}

std::string Children::reason_to_kill(const Child& child, double budget_seconds) {
  // Beyond the budget: a last launch, compilation by the driver, the child's watchdog, others on the GPU.
  constexpr double kPatienceWithRunningSeconds = 60;
  constexpr double kPatienceWithStoppedSeconds = 5;
  // The child's own watchdog ends a driver call before this, and its report may then take three seconds.
  constexpr double kPatienceAfterInterruptSeconds = kPatienceSeconds + 5;
  const double seconds = seconds_since(child.begin);
  if (child.is_stopped && seconds > budget_seconds + limited_timeout(kPatienceWithStoppedSeconds)) {
    return "a signal suspended its process beyond its time limit, and gputopo killed it";
  }
  if (seconds > budget_seconds + kPatienceWithRunningSeconds)
    return "its process did not finish within its time limit, and gputopo killed it";
  if (child.told != Clock::time_point::max() && seconds_since(child.told) > kPatienceAfterInterruptSeconds) {
    return "its process did not end after the interrupt, and gputopo killed it";
  }
  return {};
}

std::vector<Children::Ended> Children::ended(bool interrupted, double budget_seconds) {
  std::vector<Ended> result;
  std::vector<pid_t> killed;
  for (auto entry = running_.begin(); entry != running_.end();) {
    auto& [process, child] = *entry;
    const std::optional<int> status = status_of(process, child.is_stopped);
    const std::string reason = status ? "" : reason_to_kill(child, budget_seconds);
    if (!status && reason.empty()) {
      if (interrupted && child.told == Clock::time_point::max()) {
        child.told = Clock::now();
        send(process, SIGTERM);
        send(process, SIGCONT);  // a stopped process receives no other signal
      }
      ++entry;
      continue;
    }
    if (!status) {
      send(process, SIGKILL);
      killed.push_back(process);
    }
    result.push_back({child.gpu, status.value_or(0), reason, std::move(child.report), std::move(child.messages)});
    entry = running_.erase(entry);
  }
  reap(std::move(killed));
  return result;
}

}  // namespace gputopo::cli
