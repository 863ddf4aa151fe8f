#include "gputopo/device_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>

#include "file/environment.h"
#include "file/sanitize.h"

namespace gputopo {
namespace {

// Candidates in order of preference. The test of a folder gives every user the same result, so all take the same one.
constexpr const char* kFolders[] = {"/run/lock", "/dev/shm", "/tmp"};
// Another process may create or remove the file between our look for it and our attempt to create it.
constexpr int kTries = 10;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool is_open() const { return fd_ >= 0; }

 private:
  int fd_;
};

class FileLock : public DeviceLock {
 public:
  explicit FileLock(Descriptor file) : file_(std::move(file)) {}

 private:
  Descriptor file_;  // closing it releases the lock
};

// Whether every user can create files there and nobody can remove those of others.
bool is_for_everybody(const struct stat& folder) {
  constexpr mode_t kWanted = S_ISVTX | S_IWOTH | S_IXOTH;
  return S_ISDIR(folder.st_mode) && folder.st_uid == 0 && (folder.st_mode & kWanted) == kWanted;
}

struct LockFolder {
  Descriptor descriptor{-1};
  std::string path;
};

LockFolder lock_folder() {
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  if (const char* chosen = environment_variable("GPUTOPO_LOCK_DIR"); chosen != nullptr && *chosen != '\0') {
    return {Descriptor(open(chosen, kFlags)), chosen};
  }
  for (const char* path : kFolders) {
    Descriptor folder(open(path, kFlags));
    struct stat status {};
    if (folder.is_open() && fstat(folder.get(), &status) == 0 && is_for_everybody(status)) {
      return {std::move(folder), path};
    }
  }
  return {};
}

std::string file_name(std::string pci_address) {
  // Replaces path separators, whatever the vendor's interface returns.
  std::ranges::replace_if(
      pci_address, [](unsigned char c) { return std::isalnum(c) == 0 && c != '.'; }, '-');
  return fmt::format("gputopo-{}.lock", pci_address);
}

// A lock needs only read access, so another user's file will do. Files are readable by all, and opened without O_CREAT,
// because with it Linux refuses files of others in such folders (fs.protected_regular). A planted pipe does not block.
Descriptor open_lock_file(int folder, const std::string& name) {
  constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  constexpr mode_t kForAll = 0444;
  for (int i = 0; i < kTries; ++i) {
    Descriptor file(openat(folder, name.c_str(), kFlags));
    if (file.is_open() || errno != ENOENT) return file;
    Descriptor made(openat(folder, name.c_str(), kFlags | O_CREAT | O_EXCL, kForAll));
    if (made.is_open()) {
      static_cast<void>(fchmod(made.get(), kForAll));  // despite the umask
      return made;
    }
    if (errno != EEXIST) return made;
  }
  return Descriptor(-1);
}

// Whether the name still refers to the file, which a cleanup may have removed before it was locked.
bool is_current(int folder, const std::string& name, const struct stat& file) {
  struct stat now {};
  return fstatat(folder, name.c_str(), &now, AT_SYMLINK_NOFOLLOW) == 0 && now.st_ino == file.st_ino &&
         now.st_dev == file.st_dev;
}

// Returns the process that holds a flock() lock on the file; 0 if none is visible. /proc/locks has a line for each
// lock: "1: FLOCK  ADVISORY  WRITE 4242 00:2d:1234 0 EOF".
pid_t locking_process(const struct stat& file) {
  const std::string which = fmt::format("{:02x}:{:02x}:{}", major(file.st_dev), minor(file.st_dev), file.st_ino);
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, kind, manner, access, place;
    pid_t process = 0;
    if (words >> number >> kind >> manner >> access >> process >> place && kind == "FLOCK" && place == which) {
      return process;
    }
  }
  return 0;
}

}  // namespace

std::string device_lock_holder(const std::string& pci_address) {
  std::string unknown = "another gputopo process";
  const LockFolder folder = lock_folder();
  struct stat file {};
  if (!folder.descriptor.is_open() ||
      fstatat(folder.descriptor.get(), file_name(pci_address).c_str(), &file, AT_SYMLINK_NOFOLLOW) != 0) {
    return unknown;
  }
  const pid_t process = locking_process(file);
  struct stat status {};
  const std::string about = fmt::format("/proc/{}", process);
  if (process <= 0 || stat(about.c_str(), &status) != 0) return unknown;
  std::ifstream comm(about + "/comm");
  std::string name;
  std::getline(comm, name);
  return fmt::format("{} (process {} of user {})", sanitized_line(name), process, status.st_uid);
}

DeviceLockAttempt try_lock_device(const std::string& pci_address) {
  const auto refused = [](const std::string& why) {
    return DeviceLockAttempt{.problem =
                                 fmt::format("{}: another gputopo process may measure this GPU at the same time", why)};
  };
  const LockFolder folder = lock_folder();
  if (!folder.descriptor.is_open()) {
    return refused(folder.path.empty()
                       ? std::string("no folder lets all users share a lock (set GPUTOPO_LOCK_DIR to one that does)")
                       : fmt::format("cannot open the lock folder '{}': {}", folder.path, strerror(errno)));
  }
  const std::string name = file_name(pci_address);
  const std::string path = folder.path + "/" + name;
  for (int i = 0; i < kTries; ++i) {
    Descriptor file = open_lock_file(folder.descriptor.get(), name);
    if (!file.is_open()) return refused(fmt::format("cannot lock '{}': {}", path, strerror(errno)));
    struct stat status {};
    // With a second name, somebody could lock another's file through this one.
    if (fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_nlink > 1) {
      return refused(fmt::format("cannot lock '{}': it is not a regular file, or has several hard links", path));
    }
    if (flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) return {};
      return refused(fmt::format("cannot lock '{}': {}", path, strerror(errno)));
    }
    if (is_current(folder.descriptor.get(), name, status)) {
      return {.lock = std::make_unique<FileLock>(std::move(file)), .problem = {}};
    }
  }
  return refused(fmt::format("cannot lock '{}': other processes keep replacing it", path));
}

}  // namespace gputopo
