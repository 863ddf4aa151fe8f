#include "file/temporary_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <utility>

#include "file/descriptor_io.h"

namespace gputopo {
namespace {

constexpr std::string_view kPrefix = ".gputopo.";
constexpr std::string_view kSuffix = ".partial";
constexpr std::size_t kNameDigits = 16;
// Another process that removes abandoned files may find a file before its writer locks it, but hardly twice.
constexpr int kTries = 10;

std::string random_name() {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number)) number = ::getpid();
  return fmt::format("{}{:0{}x}{}", kPrefix, number, kNameDigits, kSuffix);
}

bool is_random_name(std::string_view name) {
  if (name.size() != kPrefix.size() + kNameDigits + kSuffix.size()) return false;
  const std::string_view digits = name.substr(kPrefix.size(), kNameDigits);
  return name.starts_with(kPrefix) && name.ends_with(kSuffix) &&
         digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_own_file(const struct stat& status) {
  return S_ISREG(status.st_mode) && status.st_uid == ::geteuid() && status.st_nlink == 1;
}

void remove_if_abandoned(int folder, const char* name) {
  struct stat status {};
  if (::fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) != 0 || !is_own_file(status)) return;
  // Open for writing, because NFS cannot lock it otherwise.
  const OpenFile file(::openat(folder, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!file.is_open() || ::fstat(file.fd(), &status) != 0 || !is_own_file(status)) return;
  if (::flock(file.fd(), LOCK_EX | LOCK_NB) == 0) ::unlinkat(folder, name, 0);
}

}  // namespace

TemporaryFile::TemporaryFile(Folder folder, mode_t mode) : folder_(std::move(folder)) {
  for (int i = 0; i < kTries; ++i) {
    make(mode);
    if (!is_ours_ || hold() || i + 1 == kTries) return;
    remove();
  }
}

TemporaryFile::~TemporaryFile() { remove(); }

void TemporaryFile::make(mode_t mode) {
  name_ = random_name();
  unfinished_.emplace(folder_->fd(), name_);  // before the file exists: a signal may arrive in between
  file_.emplace(::openat(folder_->fd(), name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  is_ours_ = file_->is_open();
}

bool TemporaryFile::hold() {
  // On a file system without locks, processes that remove abandoned files have none either.
  if (::flock(file_->fd(), LOCK_EX | LOCK_NB) != 0) return errno != EWOULDBLOCK;
  struct stat status {};
  return ::fstat(file_->fd(), &status) == 0 && status.st_nlink == 1;
}

void TemporaryFile::remove() {
  if (std::exchange(is_ours_, false)) ::unlinkat(folder_->fd(), name_.c_str(), 0);
}

bool TemporaryFile::commit_as(const std::string& name, std::string_view text) {
  if (!write_all(file_->fd(), text)) return false;
  lock_.emplace(::fcntl(file_->fd(), F_DUPFD_CLOEXEC, 0));
  if (!file_->close()) return false;
  if (::renameat(folder_->fd(), name_.c_str(), folder_->fd(), name.c_str()) != 0) return false;
  is_ours_ = false;
  return true;
}

void remove_abandoned_files(const Folder& folder) noexcept {
  const int listed = ::openat(folder->fd(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (listed < 0) return;
  DIR* const entries = ::fdopendir(listed);
  if (entries == nullptr) {
    ::close(listed);
    return;
  }
  while (const dirent* entry = ::readdir(entries)) {
    if (is_random_name(entry->d_name)) remove_if_abandoned(folder->fd(), entry->d_name);
  }
  ::closedir(entries);
}

}  // namespace gputopo
