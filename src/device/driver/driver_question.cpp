#include "device/driver/driver_question.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <string_view>
#include <thread>
#include <utility>

namespace gputopo {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostAnswerBytes = 1 << 20;
constexpr int kFirstFreeDescriptor = 16;
constexpr char kEndOfAnswer = '\x04';  // an answer without it was cut short

void write_answer(int fd, std::string text) {
  text += kEndOfAnswer;
  for (std::string_view rest = text; !rest.empty();) {
    const ssize_t written = ::write(fd, rest.data(), rest.size());
    if (written <= 0) return;
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

// Drops what the child has of its parent and must not use: the terminal, files and signal handlers. The child would
// otherwise keep locks on files until it ends.
void forget_parent(int answer) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE}) {
    std::signal(signal, SIG_DFL);
  }
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_UNBLOCK, &all, nullptr);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  const int nothing = ::open("/dev/null", O_RDWR);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nothing, stream);
  ::close_range(STDERR_FILENO + 1, static_cast<unsigned>(answer) - 1, 0);
  ::close_range(static_cast<unsigned>(answer) + 1, ~0U, 0);
}

[[noreturn]] void answer_as_child(pid_t parent, int answer, LastCall* call, const std::function<std::string()>& ask) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  forget_parent(answer);
  publish_driver_calls(call);
  try {
    write_answer(answer, ask());
  } catch (const std::exception&) {
    ::_exit(1);
  }
  ::_exit(0);  // skips the exit handlers of libraries and of the parent's streams
}

LastCall* shared_call() {
  void* const memory = ::mmap(nullptr, sizeof(LastCall), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : new (memory) LastCall("");
}

}  // namespace

bool uses_any_of(const std::vector<std::string>& libraries) {
  return std::ranges::any_of(libraries, [](const std::string& library) {
    void* const handle = ::dlopen(library.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (handle != nullptr) ::dlclose(handle);
    return handle != nullptr;
  });
}

DriverQuestion::DriverQuestion(std::string backend, const std::function<std::string()>& ask)
    : backend_(std::move(backend)),
      end_(begin_ + std::chrono::duration_cast<Clock::duration>(
                        std::chrono::duration<double>(limited_timeout(kPatienceToListSeconds)))),
      call_(shared_call()) {
  std::array<int, 2> ends = {-1, -1};
  if (call_ == nullptr || ::pipe2(ends.data(), O_CLOEXEC) != 0) {
    error_ = errno;
    return;
  }
  answer_ = ends[0];
  const pid_t parent = ::getpid();
  const int write_end = ::fcntl(ends[1], F_DUPFD_CLOEXEC, kFirstFreeDescriptor);
  if (write_end >= 0) process_ = ::fork();
  error_ = errno;
  if (process_ == 0) answer_as_child(parent, write_end, call_, ask);
  ::close(ends[1]);
  if (write_end >= 0) ::close(write_end);
}

DriverQuestion::~DriverQuestion() {
  constexpr std::chrono::milliseconds kPatience{1000};
  int status = 0;
  if (process_ > 0)
    static_cast<void>(has_ended_within(has_answered_ ? kPatience : std::chrono::milliseconds(0), status));
  if (process_ > 0) {
    ::kill(process_, SIGKILL);
    static_cast<void>(has_ended_within(kPatience, status));  // fails if the driver holds it within the kernel
  }
  if (answer_ >= 0) ::close(answer_);
  if (call_ != nullptr) ::munmap(static_cast<void*>(call_), sizeof(LastCall));
}

DriverQuestion::Answer DriverQuestion::wait() {
  if (process_ < 0) {
    return {.text = {},
            .problem =
                fmt::format("{}: could not start a process to query the driver ({}); allow more processes (ulimit -u)",
                            backend_, std::strerror(error_))};
  }
  bool is_late = false;
  std::string text = read_until_end(is_late);
  if (!text.ends_with(kEndOfAnswer)) return {.text = {}, .problem = problem_of(is_late)};
  has_answered_ = true;
  text.pop_back();
  return {.text = std::move(text), .problem = {}};
}

std::string DriverQuestion::read_until_end(bool& is_late) {
  std::string text;
  std::array<char, 4096> buffer;
  while (text.size() < kMostAnswerBytes && !text.ends_with(kEndOfAnswer)) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end_ - Clock::now()).count();
    // An answer may already be here although another question took all the time.
    pollfd readable{.fd = answer_, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&readable, 1, static_cast<int>(std::max<std::int64_t>(left, 0)));
    is_late = ready == 0 && left <= 0;
    if (is_late) break;
    if (ready <= 0) continue;
    const ssize_t count = ::read(answer_, buffer.data(), buffer.size());
    if (count == 0 || (count < 0 && errno != EINTR)) break;
    if (count > 0) text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return text;
}

std::string DriverQuestion::problem_of(bool is_late) {
  const std::string name = *call_->load() == '\0' ? "the driver" : call_->load();
  constexpr const char* kLeftOut = "so gputopo omits this driver's GPUs";
  if (is_late) {
    return fmt::format(
        "{}: {} has not returned for {:.1f} s, {}: the GPU or its driver hangs; see the kernel log (dmesg), and reset "
        "the GPU or reboot",
        backend_, name, std::chrono::duration<double>(Clock::now() - begin_).count(), kLeftOut);
  }
  int status = 0;
  constexpr std::chrono::milliseconds kPatience{1000};
  const bool has_ended = has_ended_within(kPatience, status);
  std::string how = "ended the query process";
  if (has_ended && WIFSIGNALED(status)) {
    const char* const signal = ::sigabbrev_np(WTERMSIG(status));
    how = fmt::format("ended the query process with signal {} (SIG{})", WTERMSIG(status),
                      signal == nullptr ? "?" : signal);
  } else if (has_ended && WIFEXITED(status)) {
    how = fmt::format("ended the query process with exit code {}", WEXITSTATUS(status));
  }
  return fmt::format("{}: {} {}, {}; update the driver, or check whether it supports these GPUs", backend_, name, how,
                     kLeftOut);
}

bool DriverQuestion::has_ended_within(std::chrono::milliseconds longest, int& status) {
  constexpr std::chrono::milliseconds kPause{5};
  const Clock::time_point end = Clock::now() + longest;
  do {
    const pid_t ended = ::waitpid(process_, &status, WNOHANG);
    if (ended != 0 && !(ended < 0 && errno == EINTR)) {
      process_ = 0;      // the id may belong to another process from now on
      return ended > 0;  // not if the program that uses this library has reaped it already
    }
    std::this_thread::sleep_for(kPause);
  } while (Clock::now() < end);
  return false;
}

}  // namespace gputopo
