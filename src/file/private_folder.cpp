// Owners and modes are checked on open files, not on names, which may have changed meaning.
#include "file/private_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <utility>
#include <vector>

#include "file/descriptor_io.h"
#include "file/file_failure.h"
#include "file/limits.h"
#include "file/temporary_file.h"
#include "gputopo/error.h"

namespace gputopo {
namespace {

constexpr mode_t kFolderMode = 0700;
constexpr mode_t kFileMode = 0600;
constexpr mode_t kModeBits = 07777;

bool is_own(const struct stat& status) {
  return status.st_uid == ::geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

}  // namespace

std::optional<PrivateFolder> PrivateFolder::open(const std::string& path) {
  try {
    const PathEnd end = find_path_end(path);
    if (end.folder == nullptr || !end.exists) return std::nullopt;
    constexpr int kFlags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    auto folder = std::make_shared<const OpenFile>(::openat(end.folder->fd(), end.name.c_str(), kFlags));
    struct stat status {};
    if (!folder->is_open() || ::fstat(folder->fd(), &status) != 0 || !is_own(status)) return std::nullopt;
    return PrivateFolder(std::move(folder), path);
  } catch (const FileError&) {
    return std::nullopt;
  }
}

PrivateFolder PrivateFolder::open_or_create(const std::string& path) {
  std::vector<NewFolder> created;
  Folder folder = open_or_create_folder(path, created, kFolderMode);
  struct stat status {};
  if (::fstat(folder->fd(), &status) != 0) fail_on_file("use the folder", path, errno);
  if (status.st_uid != ::geteuid()) {
    throw FileError(
        fmt::format("cannot use the folder '{}': it belongs to another user; name a folder of your own", path));
  }
  if ((status.st_mode & kModeBits) != kFolderMode) {
    // A descriptor opened with O_PATH cannot change permissions.
    const OpenFile changeable(::openat(folder->fd(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!changeable.is_open() || ::fchmod(changeable.fd(), kFolderMode) != 0) {
      fail_on_file("use the folder", path, errno);
    }
  }
  return {std::move(folder), path};
}

std::optional<PrivateFolder::File> PrivateFolder::read(const std::string& name) const {
  constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  const OpenFile file(::openat(folder_->fd(), name.c_str(), kFlags));
  struct stat status {};
  if (!file.is_open() || ::fstat(file.fd(), &status) != 0) return std::nullopt;
  // A file with a second name may be written from another folder.
  if (!S_ISREG(status.st_mode) || status.st_nlink != 1 || !is_own(status)) return std::nullopt;
  try {
    return File{read_all(file.fd(), path_ + "/" + name, limits::kMaxInputBytes), status.st_mtim};
  } catch (const FileError&) {
    return std::nullopt;
  }
}

void PrivateFolder::write(const std::string& name, std::string_view text) const {
  remove_abandoned_files(folder_);
  TemporaryFile beside(folder_, kFileMode);
  // The umask may have removed rights that this user needs.
  if (!beside.is_open() || ::fchmod(beside.fd(), kFileMode) != 0 || !beside.commit_as(name, text)) {
    fail_on_file("write", path_ + "/" + name, errno);
  }
}

}  // namespace gputopo
