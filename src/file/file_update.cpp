#include "file/file_update.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <thread>
#include <utility>

#include "file/digest.h"
#include "file/file_failure.h"
#include "gputopo/error.h"
#include "gputopo/file.h"

namespace gputopo {
namespace {

constexpr mode_t kLockMode = 0666;  // less the umask: everyone who may change the folder should be able to lock

std::string lock_name(const std::string& name) {
  const std::string readable = fmt::format(".{}.lock", name);
  return readable.size() <= NAME_MAX ? readable : fmt::format(".{}.lock", digest(name));
}

// -1 with errno set. Opening comes before creating, because Linux refuses to create over another user's file in a
// folder like /tmp. Locking over NFS requires write access; elsewhere, read access is enough.
int open_lock(int folder, const std::string& name) {
  for (const int flags : {O_RDWR, O_RDONLY, O_RDWR | O_CREAT}) {
    const int fd = ::openat(folder, name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, kLockMode);
    if (fd >= 0) return fd;
  }
  return -1;
}

bool is_same(const PathEnd& one, const PathEnd& other) {
  if (!one.exists || !other.exists) return one.exists == other.exists;
  const struct stat& a = one.status;
  const struct stat& b = other.status;
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino && a.st_size == b.st_size &&
         a.st_mtim.tv_sec == b.st_mtim.tv_sec && a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

}  // namespace

FileUpdate::FileUpdate(std::string path, std::chrono::duration<double> patience,
                       const std::function<void(const std::string& line)>& say)
    : path_(std::move(path)) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kPause{50};
  const PathEnd end = find_path_end(path_);
  if (end.folder == nullptr) fail_on_file("write", path_, ENOENT);
  if (end.exists && !S_ISREG(end.status.st_mode)) return;
  const std::string name = lock_name(end.name);
  lock_ = std::make_shared<const OpenFile>(open_lock(end.folder->fd(), name));
  struct stat status {};
  if (!lock_->is_open() || ::fstat(lock_->fd(), &status) != 0 || !S_ISREG(status.st_mode)) {
    throw FileError(fmt::format(
        "cannot lock '{}': its lock file '{}' {}; remove the lock file or choose another path", path_, name,
        lock_->is_open() ? "is not a regular file" : fmt::format("cannot be opened ({})", std::strerror(errno))));
  }
  const Clock::time_point begin = Clock::now();
  for (bool is_first = true; ::flock(lock_->fd(), LOCK_EX | LOCK_NB) != 0; is_first = false) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      say(fmt::format("cannot lock '{}' ({}): make sure that no other process changes it meanwhile", path_,
                      std::strerror(errno)));
      return;
    }
    if (is_first) say(fmt::format("waiting for another process that is changing '{}'", path_));
    if (Clock::now() - begin > patience) {
      throw FileError(
          fmt::format("another process has held the lock on '{}' for {:.0f} s: try again when it has finished", path_,
                      patience.count()));
    }
    std::this_thread::sleep_for(kPause);
  }
}

std::optional<std::string> FileUpdate::read(std::uint64_t max_bytes) {
  read_ = find_path_end(path_);
  if (!read_->exists) return std::nullopt;
  return read_file(path_, max_bytes);
}

void FileUpdate::write(std::string_view text) const {
  if (read_ && !is_same(*read_, find_path_end(path_))) {
    throw FileError(fmt::format("'{}' was changed meanwhile, so it was not overwritten: run the command again", path_));
  }
  write_file(path_, text);
}

}  // namespace gputopo
