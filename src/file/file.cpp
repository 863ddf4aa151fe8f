#include "gputopo/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "file/limits.h"
#include "file/writable.h"
#include "gputopo/error.h"

namespace gputopo {
namespace {

namespace fs = std::filesystem;

std::string_view advice(std::string_view action, int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "free some space or choose another path";
    case EFBIG:
      return "raise the file size limit (ulimit -f) or choose another path";
    case EACCES:
    case EPERM:
    case EROFS:
      return "choose a path that you may access";
    case ENOENT:
    case ENOTDIR:
      return action == "read" ? "check the path" : "check the path, or create its folder first";
    case EISDIR:
      return "name a file, not a folder";
    default:
      return "check the path or choose another one";
  }
}

[[noreturn]] void fail(std::string_view action, const std::string& path, int error) {
  throw FileError(fmt::format("cannot {} '{}': {}; {}", action, path, std::strerror(error), advice(action, error)));
}

// Owns an open file and, until keep(), the name of the file it writes.
class OutputFile {
 public:
  OutputFile(std::string path, int flags) : path_(std::move(path)), fd_(::open(path_.c_str(), flags, 0666)) {}
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile() {
    if (fd_ >= 0) ::close(fd_);
    if (remove_) ::unlink(path_.c_str());
  }
  [[nodiscard]] bool is_open() const { return fd_ >= 0; }
  [[nodiscard]] const std::string& path() const { return path_; }
  void remove_at_end(bool remove) { remove_ = remove; }

  // False with errno set if not all of it could be written.
  [[nodiscard]] bool write(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t written = ::write(fd_, text.data(), text.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return false;
      text.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
  }
  // A full disk may show only here.
  [[nodiscard]] bool close() { return ::close(std::exchange(fd_, -1)) == 0; }

 private:
  std::string path_;
  int fd_;
  bool remove_ = false;
};

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

// Where the text is to end up: through symbolic links, so that a link stays a link.
std::string final_path(const std::string& path) {
  std::error_code ignored;
  const fs::path resolved = fs::canonical(path, ignored);
  return resolved.empty() ? path : resolved.string();
}

// A device or a pipe is written to in place: renaming over it would replace it by a file.
bool is_written_in_place(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

// A pipe without a name: the shell's own, as of <(command). Nobody may ever write to one that has a name.
bool is_nameless_pipe(int fd) {
  std::error_code ignored;
  return fs::read_symlink(fmt::format("/proc/self/fd/{}", fd), ignored).string().starts_with("pipe:");
}

[[noreturn]] void refuse_kind(const std::string& path) {
  throw FileError(fmt::format("cannot read '{}': it is no regular file; name a file, or - for what is piped in", path));
}

[[noreturn]] void refuse_size(const std::string& path) {
  throw FileError(fmt::format("cannot read '{}': it is larger than {} MiB, which no file of gputopo is; name another",
                              path, limits::kMaxInputBytes >> 20));
}

// A file to be read: a regular one, or a nameless pipe. Others may never end, or do something when they are opened.
class InputFile {
 public:
  explicit InputFile(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) fail("read", path, errno);
    if (S_ISDIR(status.st_mode)) fail("read", path, EISDIR);
    if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode)) refuse_kind(path);
    fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe that nobody writes to would wait here
    if (fd_ < 0) fail("read", path, errno);
    try {
      check(path);
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
  // Once more, for the path may name another file by now.
  void check(const std::string& path) const {
    struct stat status {};
    if (::fstat(fd_, &status) != 0) fail("read", path, errno);
    if (!S_ISREG(status.st_mode) && !(S_ISFIFO(status.st_mode) && is_nameless_pipe(fd_))) refuse_kind(path);
    if (S_ISREG(status.st_mode) && static_cast<std::uint64_t>(status.st_size) > limits::kMaxInputBytes) {
      refuse_size(path);
    }
    if (::fcntl(fd_, F_SETFL, 0) != 0) fail("read", path, errno);
  }

  int fd_ = -1;
};

std::string read_all(int fd, const std::string& path) {
  std::string text;
  std::array<char, 1 << 16> buffer;
  while (true) {
    const ssize_t count = ::read(fd, buffer.data(), buffer.size());
    if (count == 0) return text;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("read", path, errno);
    text.append(buffer.data(), static_cast<std::size_t>(count));
    if (text.size() > limits::kMaxInputBytes) refuse_size(path);
  }
}

std::string path_beside(const std::string& path) { return fmt::format("{}.{}.partial", path, ::getpid()); }

}  // namespace

void check_writable(const std::string& path) {
  if (is_folder(path)) fail("write", path, EISDIR);
  const std::string target = final_path(path);
  if (is_written_in_place(target)) {
    if (::access(target.c_str(), W_OK) != 0) fail("write", path, errno);
    return;
  }
  OutputFile beside(path_beside(target), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC);
  if (!beside.is_open()) fail("write", path, errno);
  beside.remove_at_end(true);
}

void make_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) fail("create the folder", path, error.value());
  check_writable((fs::path(path) / "device.txt").string());
}

void check_empty_folder(const std::string& path) {
  std::error_code error;
  std::vector<fs::path> missing;  // the innermost first
  for (fs::path folder = fs::absolute(path).lexically_normal(); !fs::exists(folder, error);
       folder = folder.parent_path()) {
    if (folder.has_filename()) missing.push_back(folder);
  }
  make_folder(path);
  const bool is_empty = fs::is_empty(path, error);
  if (error) fail("read", path, error.value());
  for (const fs::path& folder : missing) fs::remove(folder, error);
  if (!is_empty) {
    throw FileError(
        fmt::format("the folder '{}' is not empty, and its files would mix with new ones; name another", path));
  }
}

void write_file(const std::string& path, std::string_view text) {
  if (is_folder(path)) fail("write", path, EISDIR);
  const std::string target = final_path(path);
  const bool in_place = is_written_in_place(target);
  OutputFile file(in_place ? target : path_beside(target), O_WRONLY | O_CLOEXEC | (in_place ? 0 : O_CREAT | O_TRUNC));
  if (!file.is_open()) fail("write", path, errno);
  file.remove_at_end(!in_place);
  if (!file.write(text) || !file.close()) fail("write", path, errno);
  if (in_place) return;
  if (::rename(file.path().c_str(), target.c_str()) != 0) fail("write", path, errno);
  file.remove_at_end(false);
}

std::string read_file(const std::string& path) {
  if (path == "-") return read_all(STDIN_FILENO, path);
  const InputFile file(path);
  return read_all(file.fd(), path);
}

}  // namespace gputopo
