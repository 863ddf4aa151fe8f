#include "file/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "file/descriptor_io.h"
#include "file/file_failure.h"
#include "file/output_path.h"
#include "file/temporary_file.h"
#include "gputopo/error.h"
#include "gputopo/file.h"

namespace gputopo {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kNewFileMode = 0666;  // less the umask, which the kernel applies
constexpr mode_t kPermissions = 0777;

// The destination of the text.
struct OutputTarget : PathEnd {
  // For a device or a pipe, which renaming would replace by a file.
  bool is_in_place = false;
  int own_descriptor = -1;  // for /dev/stdout, /dev/fd/N and the like: this process's descriptor
};

// N for /proc/self/fd/N under any of its names. The descriptor may refer to a file, but one that is already in use.
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

// Throws FileError for what must not be written in place. A pipe of another user may never have a reader, and then
// this process and all that wait for it would block.
void require_for_output(const std::string& path, const struct stat& status) {
  if (S_ISBLK(status.st_mode)) {
    throw FileError(fmt::format("cannot write '{}': it is a block device, not a file; name a file", path));
  }
  if (S_ISFIFO(status.st_mode) && status.st_uid != ::geteuid() && status.st_uid != 0) {
    throw FileError(fmt::format("cannot write '{}': it is a pipe that belongs to another user; name a file", path));
  }
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
  target.is_in_place = !S_ISREG(target.status.st_mode);
  // The target of a link in /proc is known only after it is opened.
  if (target.is_in_place && !S_ISLNK(target.status.st_mode)) require_for_output(path, target.status);
  return target;
}

// The new file takes the permissions of the old one and, as far as this user may set them, its owner and group.
bool take_permissions(int fd, const struct stat& old) {
  mode_t mode = old.st_mode & kPermissions;
  struct stat now {};
  if (::fstat(fd, &now) != 0) return false;
  if (now.st_uid != old.st_uid || now.st_gid != old.st_gid) {
    const bool kept = ::fchown(fd, old.st_uid, old.st_gid) == 0 || ::fchown(fd, -1, old.st_gid) == 0;
    if (!kept) mode &= ~static_cast<mode_t>(S_IRWXG);  // they were for another group
  }
  return ::fchmod(fd, mode) == 0;
}

// A file that replaces another gives others no access before it has that file's permissions.
mode_t mode_beside(const OutputTarget& target) { return target.exists ? S_IRUSR | S_IWUSR : kNewFileMode; }

// In a folder like /tmp, only the owner of a file may replace it.
bool may_replace(const OutputTarget& target) {
  struct stat folder {};
  const uid_t user = ::geteuid();
  if (!target.exists || user == 0 || ::fstat(target.folder->fd(), &folder) != 0) return true;
  return (folder.st_mode & S_ISVTX) == 0 || target.status.st_uid == user || folder.st_uid == user;
}

// A file or folder has one identity, whatever its paths are.
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
    return {0, 0, fs::absolute(path, ignored).lexically_normal()};
  }
  return {folder.st_dev, folder.st_ino, target.name};
}

// /dev/null and terminals accept any number of outputs.
bool is_device(const std::string& path) {
  std::error_code ignored;
  return fs::is_character_file(path, ignored);
}

// A descriptor for writing in place; -1 with errno set on failure.
int descriptor_in_place(const std::string& path, const OutputTarget& target) {
  // A descriptor that is already open continues at its position; opening the file again would start at its beginning.
  if (target.own_descriptor >= 0) return ::fcntl(target.own_descriptor, F_DUPFD_CLOEXEC, 0);
  // The target of a link in /proc has no other name.
  const int no_link = S_ISLNK(target.status.st_mode) ? 0 : O_NOFOLLOW;
  // Opening a pipe waits for its reader, so it is first held by O_PATH and checked: its name may be another's now.
  const OpenFile found(::openat(target.folder->fd(), target.name.c_str(), O_PATH | O_CLOEXEC | no_link));
  struct stat status {};
  if (!found.is_open() || ::fstat(found.fd(), &status) != 0) return -1;
  require_for_output(path, status);
  return ::open(fmt::format("/proc/self/fd/{}", found.fd()).c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
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
  const TemporaryFile beside(target.folder, mode_beside(target));
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
    OpenFile file(descriptor_in_place(path, target));
    if (!file.is_open() || !write_all(file.fd(), text) || !file.close()) fail_on_file("write", path, errno);
    return;
  }
  if (target.folder == nullptr) fail_on_file("write", path, ENOENT);
  remove_abandoned_files(target.folder);
  TemporaryFile beside(target.folder, mode_beside(target));
  const bool is_ready = beside.is_open() && (!target.exists || take_permissions(beside.fd(), target.status));
  if (!is_ready || !beside.commit_as(target.name, text)) fail_on_file("write", path, errno);
}

}  // namespace gputopo
