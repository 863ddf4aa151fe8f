// Files are written whole or not at all: a file beside the target takes the text, and its name becomes the target's.
//
// The folder may belong to somebody else, who puts links where a file is to come. So the file beside has a name that
// nobody can guess and must not exist yet (O_EXCL, which follows no link), and links on the path are followed only if
// they are the user's own or root's (output_path.h).
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
#include "file/output_path.h"
#include "file/unfinished.h"
#include "file/writable.h"
#include "gputopo/error.h"
#include "gputopo/file.h"

namespace gputopo {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kNewFileMode = 0666;  // less the umask, which the kernel takes off
constexpr mode_t kPermissions = 0777;

// False with errno set if not all of it could be written.
bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

// Where the text is to end up.
struct OutputTarget : PathEnd {
  // A device or a pipe: renaming over it would replace it by a file.
  bool is_in_place = false;
  int own_descriptor = -1;  // of /dev/stdout, /dev/fd/N and the like: this process's own
};

// N of /proc/self/fd/N, by any of its names. What is open there may be a file, but one that is written to already.
std::optional<int> own_descriptor(const PathEnd& end) {
  std::error_code failed;
  const fs::path folder = fs::read_symlink(fmt::format("/proc/self/fd/{}", end.folder->fd()), failed);
  if (failed || folder != fs::canonical("/proc/self/fd", failed) || failed) return {};
  int number = -1;
  const char* const end_of_name = end.name.data() + end.name.size();
  const auto [stopped, error] = std::from_chars(end.name.data(), end_of_name, number);
  if (error != std::errc{} || stopped != end_of_name) return {};
  return number;
}

OutputTarget resolve_output(const std::string& path) {
  OutputTarget target{find_path_end(path)};
  if (target.folder == nullptr) return target;
  if (const std::optional<int> descriptor = own_descriptor(target)) {
    if (::fstat(*descriptor, &target.status) != 0) fail_on_file("write", path, errno);
    target.exists = target.is_in_place = true;
    target.own_descriptor = *descriptor;
    return target;
  }
  if (!target.exists) return target;
  if (S_ISDIR(target.status.st_mode)) fail_on_file("write", path, EISDIR);
  if (S_ISBLK(target.status.st_mode)) {
    throw FileError(fmt::format("cannot write '{}': it is a disk, not a file; name a file", path));
  }
  target.is_in_place = !S_ISREG(target.status.st_mode);
  return target;
}

std::string name_beside() {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number)) number = ::getpid();
  return fmt::format(".gputopo.{:016x}.partial", number);
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
      : folder_(target.folder),
        name_(name_beside()),
        unfinished_(folder_->fd(), name_),
        file_(::openat(folder_->fd(), name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                       target.exists ? S_IRUSR | S_IWUSR : kNewFileMode)),
        is_ours_(file_.is_open()) {}
  FileBeside(const FileBeside&) = delete;
  FileBeside& operator=(const FileBeside&) = delete;
  ~FileBeside() {
    if (is_ours_) ::unlinkat(folder_->fd(), name_.c_str(), 0);
  }
  [[nodiscard]] bool is_open() const { return file_.is_open(); }
  // False with errno set.
  [[nodiscard]] bool become(const OutputTarget& target, std::string_view text) {
    if (target.exists && !take_permissions(file_.fd(), target.status)) return false;
    if (!write_all(file_.fd(), text) || !file_.close()) return false;
    if (::renameat(folder_->fd(), name_.c_str(), folder_->fd(), target.name.c_str()) != 0) return false;
    is_ours_ = false;
    return true;
  }

 private:
  Folder folder_;
  std::string name_;
  UnfinishedFile unfinished_;  // before the file is made: a signal may come in between
  OpenFile file_;
  bool is_ours_;
};

// In a folder like /tmp only its owner may replace a file.
bool may_replace(const OutputTarget& target) {
  struct stat folder {};
  const uid_t user = ::geteuid();
  if (!target.exists || user == 0 || ::fstat(target.folder->fd(), &folder) != 0) return true;
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
  if (target.folder == nullptr || ::fstat(target.folder->fd(), &folder) != 0) {
    return {0, 0, fs::absolute(path).lexically_normal()};
  }
  return {folder.st_dev, folder.st_ino, target.name};
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
  if (target.folder == nullptr) fail_on_file("write", path, ENOENT);
  if (target.is_in_place) {
    if (::faccessat(target.folder->fd(), target.name.c_str(), W_OK, 0) != 0) fail_on_file("write", path, errno);
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
    // What a link in /proc leads to has no other name.
    const int no_link = S_ISLNK(target.status.st_mode) ? 0 : O_NOFOLLOW;
    // Through the descriptor that is open already, what comes after it does not begin at its start.
    OpenFile file(target.own_descriptor >= 0
                      ? ::fcntl(target.own_descriptor, F_DUPFD_CLOEXEC, 0)
                      : ::openat(target.folder->fd(), target.name.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | no_link));
    if (!file.is_open() || !write_all(file.fd(), text) || !file.close()) fail_on_file("write", path, errno);
    return;
  }
  if (target.folder == nullptr) fail_on_file("write", path, ENOENT);
  FileBeside beside(target);
  if (!beside.is_open() || !beside.become(target, text)) fail_on_file("write", path, errno);
}

}  // namespace gputopo
