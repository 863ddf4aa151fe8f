#include "cli/standard_streams.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "file/visible.h"

namespace gputopo::cli {

void fill_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
    // The wrong way round, so that reading the one and writing the others fails as before. The lowest free number is
    // taken, which is this one.
    static_cast<void>(::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY));
  }
}

void print_result(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return;
  const int error = errno;
  // What could not be written is not to be tried again when the process ends.
  std::clearerr(stdout);
  if (error == EPIPE) throw ReaderGoneError("nobody reads standard output any more");
  if (error == EBADF) throw FileError("cannot write to standard output: it is closed; send it somewhere");
  throw FileError(fmt::format("cannot write to standard output: {}; send it elsewhere", std::strerror(error)));
}

void say_raw(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

void say(std::string_view line) { say_raw(visible_line(line) + "\n"); }

void say_text(std::string_view text) { say_raw(visible_text(text) + "\n"); }

void end_without_reader() {
  std::signal(SIGPIPE, SIG_DFL);
  std::raise(SIGPIPE);
  std::_Exit(128 + SIGPIPE);  // where the signal is blocked
}

}  // namespace gputopo::cli
