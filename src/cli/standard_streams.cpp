#include "cli/standard_streams.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

#include "file/limits.h"
#include "file/sanitize.h"
#include "file/shown.h"

namespace gputopo::cli {
namespace {

// Text that any thread has for standard error.
struct StandardError {
  std::mutex mutex;
  std::string pending;
  int holders = 0;
};

// Never destroyed: a thread may write a message while the process ends.
StandardError& standard_error() {
  static StandardError& instance = *new StandardError;
  return instance;
}

bool is_ready_for_more() {
  pollfd stream{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  return ::poll(&stream, 1, 0) > 0;
}

void wait_until_ready() {
  pollfd stream{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  ::poll(&stream, 1, -1);
}

// Requires its mutex.
void write_pending(StandardError& stream) {
  std::string_view rest = stream.pending;
  while (!rest.empty()) {
    // A pipe that is ready accepts PIPE_BUF bytes without blocking.
    const std::size_t most = stream.holders == 0 ? rest.size() : std::min<std::size_t>(rest.size(), PIPE_BUF);
    if (stream.holders != 0 && !is_ready_for_more()) break;
    const ssize_t written = ::write(STDERR_FILENO, rest.data(), most);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) {  // others have set it to nonblocking, and they share it
      if (stream.holders != 0) break;
      wait_until_ready();
      continue;
    }
    if (written < 0) rest = {};  // nobody will ever read it
    if (written > 0) rest.remove_prefix(static_cast<std::size_t>(written));
  }
  stream.pending.erase(0, stream.pending.size() - rest.size());
}

}  // namespace

DeferredStderr::DeferredStderr() {
  StandardError& stream = standard_error();
  const std::scoped_lock lock(stream.mutex);
  ++stream.holders;
}

DeferredStderr::~DeferredStderr() {
  StandardError& stream = standard_error();
  const std::scoped_lock lock(stream.mutex);
  --stream.holders;
  write_pending(stream);
}

void fill_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
    // Opened in the opposite direction, so that reading the first and writing the others still fails. open() takes the
    // lowest free number, which is this one.
    static_cast<void>(::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY));
  }
}

void print_result(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return;
  const int error = errno;
  // The failed text must not be written again when the process ends.
  std::clearerr(stdout);
  if (error == EPIPE) throw BrokenPipeError("the program that reads standard output has closed it");
  if (error == EBADF) throw FileError("cannot write to standard output: it is closed; redirect it to a file or a pipe");
  throw FileError(fmt::format("cannot write to standard output: {}; redirect it elsewhere", std::strerror(error)));
}

void say_raw(std::string_view text) {
  StandardError& stream = standard_error();
  const std::scoped_lock lock(stream.mutex);
  stream.pending += text;
  write_pending(stream);
}

void say(std::string_view line) { say_raw(shown(sanitized_line(line), limits::kMaxMessage) + "\n"); }

void say_text(std::string_view text) { say_raw(sanitized_text(text) + "\n"); }

void end_without_reader() {
  std::signal(SIGPIPE, SIG_DFL);
  std::raise(SIGPIPE);
  std::_Exit(128 + SIGPIPE);  // if the signal is blocked
}

}  // namespace gputopo::cli
