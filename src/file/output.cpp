// Files are written whole or not at all: a file beside the target takes the text, and its name becomes the target's.
//
// The folder may belong to somebody else, who puts links where a file is to come. So the file beside has a name that
// nobody can guess and must not exist yet (O_EXCL, which follows no link), and a link at the target itself is followed
// only if it is the user's own or root's.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "file/file_failure.h"
#include "file/unfinished.h"
#include "file/writable.h"
#include "gputopo/error.h"
#include "gputopo/file.h"

namespace gputopo {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kNewFileMode = 0666;  // less the umask, which the kernel takes off
constexpr mode_t kPermissions = 0777;

// Owns an open file.
class OutputFile {
 public:
  explicit OutputFile(int fd) : fd_(fd) {}
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] bool is_open() const { return fd_ >= 0; }
  [[nodiscard]] int fd() const { return fd_; }
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
  int fd_;
};

// Where the text is to end up.
struct OutputTarget {
  std::string path;  // through symbolic links, so that a link stays a link
  bool exists = false;
  // A device or a pipe: renaming over it would replace it by a file.
  bool is_in_place = false;
  int own_descriptor = -1;  // of /dev/stdout, /dev/fd/N and the like: this process's own
  struct stat status {};    // if it exists
};

// N of /proc/self/fd/N, by any of its names. What is open there may be a file, but one that is written to already.
std::optional<int> own_descriptor(const fs::path& path) {
  std::error_code failed;
  if (fs::canonical(path.parent_path(), failed) != fs::canonical("/proc/self/fd", failed) || failed) return {};
  const std::string name = path.filename();
  int number = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc{} || end != name.data() + name.size()) return {};
  return number;
}

// Whoever may write to a folder may put a link there, to a file that only the user of gputopo may write.
void refuse_link_of_another(const std::string& path, const struct stat& link) {
  if (link.st_uid == ::geteuid() || link.st_uid == 0) return;
  throw FileError(fmt::format(
      "cannot write '{}': it is a symbolic link of another user; name the file that it leads to, or another", path));
}

OutputTarget resolve_output(const std::string& path) {
  constexpr int kMostLinks = 40;  // as many as Linux follows
  fs::path at = path;
  for (int links = 0; links <= kMostLinks; ++links) {
    OutputTarget target{.path = at.string()};
    if (const std::optional<int> descriptor = own_descriptor(at)) {
      if (::fstat(*descriptor, &target.status) != 0) fail_on_file("write", path, errno);
      target.exists = target.is_in_place = true;
      target.own_descriptor = *descriptor;
      return target;
    }
    if (::lstat(at.c_str(), &target.status) != 0) {
      if (errno != ENOENT) fail_on_file("write", path, errno);
      return target;
    }
    target.exists = true;
    if (!S_ISLNK(target.status.st_mode)) {
      if (S_ISDIR(target.status.st_mode)) fail_on_file("write", path, EISDIR);
      if (S_ISBLK(target.status.st_mode)) {
        throw FileError(fmt::format("cannot write '{}': it is a disk, not a file; name a file", path));
      }
      target.is_in_place = !S_ISREG(target.status.st_mode);
      return target;
    }
    refuse_link_of_another(path, target.status);
    std::error_code error;
    const fs::path next = fs::read_symlink(at, error);
    if (error) fail_on_file("write", path, error.value());
    at = at.parent_path() / next;
  }
  fail_on_file("write", path, ELOOP);
}

fs::path folder_of(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  return folder.empty() ? fs::path(".") : folder;
}

std::string path_beside(const OutputTarget& target) {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number)) number = ::getpid();
  return folder_of(target.path) / fmt::format(".gputopo.{:016x}.partial", number);
}

// The new file takes the permissions of the one that it replaces, and belongs to whom that belonged as far as this user
// may arrange it.
bool take_permissions(int fd, const struct stat& old) {
  mode_t mode = old.st_mode & kPermissions;
  struct stat now {};
  if (::fstat(fd, &now) != 0) return false;
  if (now.st_uid != old.st_uid || now.st_gid != old.st_gid) {
    const bool kept = ::fchown(fd, old.st_uid, old.st_gid) == 0 || ::fchown(fd, -1, old.st_gid) == 0;
    if (!kept) mode &= ~static_cast<mode_t>(S_IRWXG);  // they were another group's
  }
  return ::fchmod(fd, mode) == 0;
}

// A new file beside the target, which goes away with this object unless it becomes the target.
class FileBeside {
 public:
  explicit FileBeside(const OutputTarget& target)
      : path_(path_beside(target)),
        unfinished_(path_),
        file_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                     target.exists ? S_IRUSR | S_IWUSR : kNewFileMode)),
        is_ours_(file_.is_open()) {}
  FileBeside(const FileBeside&) = delete;
  FileBeside& operator=(const FileBeside&) = delete;
  ~FileBeside() {
    if (is_ours_) ::unlink(path_.c_str());
  }
  [[nodiscard]] bool is_open() const { return file_.is_open(); }
  // False with errno set.
  [[nodiscard]] bool become(const OutputTarget& target, std::string_view text) {
    if (target.exists && !take_permissions(file_.fd(), target.status)) return false;
    if (!file_.write(text) || !file_.close()) return false;
    if (::rename(path_.c_str(), target.path.c_str()) != 0) return false;
    is_ours_ = false;
    return true;
  }

 private:
  std::string path_;
  UnfinishedFile unfinished_;  // before the file is made: a signal may come in between
  OutputFile file_;
  bool is_ours_;
};

// In a folder like /tmp only its owner may replace a file.
bool may_replace(const OutputTarget& target) {
  struct stat folder {};
  const uid_t user = ::geteuid();
  if (!target.exists || user == 0 || ::stat(folder_of(target.path).c_str(), &folder) != 0) return true;
  return (folder.st_mode & S_ISVTX) == 0 || target.status.st_uid == user || folder.st_uid == user;
}

// What is one file or folder has one identity, whatever its paths are.
using FileIdentity = std::tuple<dev_t, ino_t, std::string>;

FileIdentity identity_of(const std::string& path) {
  std::error_code ignored;
  struct stat status {};
  const bool is_folder = fs::is_directory(path, ignored) && ::stat(path.c_str(), &status) == 0;
  if (is_folder) return {status.st_dev, status.st_ino, ""};
  const OutputTarget target = resolve_output(path);
  if (target.exists) return {target.status.st_dev, target.status.st_ino, ""};
  struct stat folder {};
  if (::stat(folder_of(target.path).c_str(), &folder) != 0) return {0, 0, fs::absolute(path).lexically_normal()};
  return {folder.st_dev, folder.st_ino, fs::path(target.path).filename()};
}

// /dev/null takes any number of outputs, and so does a terminal.
bool is_device(const std::string& path) {
  std::error_code ignored;
  return fs::is_character_file(path, ignored);
}

}  // namespace

void check_writable(const std::string& path) {
  const OutputTarget target = resolve_output(path);
  if (target.own_descriptor >= 0) return;
  if (target.is_in_place) {
    if (::access(target.path.c_str(), W_OK) != 0) fail_on_file("write", path, errno);
    return;
  }
  if (!may_replace(target)) fail_on_file("write", path, EPERM);
  const FileBeside beside(target);
  if (!beside.is_open()) fail_on_file("write", path, errno);
}

std::optional<std::pair<std::string, std::string>> one_file_twice(const std::vector<std::string>& paths) {
  std::map<FileIdentity, std::string> seen;
  for (const std::string& path : paths) {
    const auto [first, is_new] = seen.emplace(identity_of(path), path);
    if (!is_new && !is_device(path)) return std::pair(first->second, path);
  }
  return {};
}

bool is_same_file(const std::string& path, const std::string& other) {
  std::error_code is_missing;
  return fs::equivalent(path, other, is_missing);
}

void write_file(const std::string& path, std::string_view text) {
  const OutputTarget target = resolve_output(path);
  if (target.is_in_place) {
    // Through the descriptor that is open already, what comes after it does not begin at its start.
    OutputFile file(target.own_descriptor >= 0 ? ::fcntl(target.own_descriptor, F_DUPFD_CLOEXEC, 0)
                                               : ::open(target.path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
    if (!file.is_open() || !file.write(text) || !file.close()) fail_on_file("write", path, errno);
    return;
  }
  FileBeside beside(target);
  if (!beside.is_open() || !beside.become(target, text)) fail_on_file("write", path, errno);
}

}  // namespace gputopo
