#include "gputopo/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "file/descriptor_io.h"
#include "file/file_failure.h"
#include "file/limits.h"
#include "gputopo/error.h"

namespace gputopo {
namespace {

namespace fs = std::filesystem;

// A pipe without a name, such as the shell's for <(command). A named pipe may never have a writer.
bool is_nameless_pipe(int fd) {
  std::error_code ignored;
  return fs::read_symlink(fmt::format("/proc/self/fd/{}", fd), ignored).string().starts_with("pipe:");
}

[[noreturn]] void refuse_kind(const std::string& path) {
  throw FileError(
      fmt::format("cannot read '{}': it is not a regular file; name a file, or - for standard input", path));
}

// An input file: a regular file or a nameless pipe. Others may never end, or have side effects when they are opened.
class InputFile {
 public:
  InputFile(const std::string& path, std::uint64_t max_bytes) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) fail_on_file("read", path, errno);
    if (S_ISDIR(status.st_mode)) fail_on_file("read", path, EISDIR);
    if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode)) refuse_kind(path);
    fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // else a pipe without a writer blocks
    if (fd_ < 0) fail_on_file("read", path, errno);
    try {
      check(path, max_bytes);
    } catch (...) {
      ::close(fd_);
      throw;
    }
  }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  ~InputFile() { ::close(fd_); }
  [[nodiscard]] int fd() const { return fd_; }

 private:
  // Checks again after opening, because the path may name another file by now.
  void check(const std::string& path, std::uint64_t max_bytes) const {
    struct stat status {};
    if (::fstat(fd_, &status) != 0) fail_on_file("read", path, errno);
    if (!S_ISREG(status.st_mode) && !(S_ISFIFO(status.st_mode) && is_nameless_pipe(fd_))) refuse_kind(path);
    if (S_ISREG(status.st_mode) && static_cast<std::uint64_t>(status.st_size) > max_bytes) {
      refuse_size(path, max_bytes);
    }
    if (::fcntl(fd_, F_SETFL, 0) != 0) fail_on_file("read", path, errno);
  }

  int fd_ = -1;
};

}  // namespace

std::string read_file(const std::string& path) { return read_file(path, limits::kMaxInputBytes); }

std::string read_file(const std::string& path, std::uint64_t max_bytes) {
  if (path == "-") return read_all(STDIN_FILENO, path, max_bytes);
  const InputFile file(path, max_bytes);
  return read_all(file.fd(), path, max_bytes);
}

}  // namespace gputopo
