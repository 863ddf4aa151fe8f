#include "cli/work_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <system_error>

#include "gputopo/error.h"

namespace gputopo::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPrefix = "gputopo-node-";

// -1: another process has it, or it cannot be had.
int lock_folder(const fs::path& path) {
  const int folder = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder >= 0 && flock(folder, LOCK_EX | LOCK_NB) == 0) return folder;
  if (folder >= 0) close(folder);
  return -1;
}

// A young one may be about to be locked by its process.
bool may_be_left(const fs::path& path) {
  constexpr std::time_t kYoungSeconds = 60;
  struct stat status {};
  return lstat(path.c_str(), &status) == 0 && status.st_uid == geteuid() &&
         status.st_mtime + kYoungSeconds < std::time(nullptr);
}

// Those of processes that were killed.
void remove_left_folders(const fs::path& parent) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(parent, ignored)) {
    if (!entry.path().filename().string().starts_with(kPrefix) || !may_be_left(entry.path())) continue;
    const int lock = lock_folder(entry.path());
    if (lock < 0) continue;
    fs::remove_all(entry.path(), ignored);
    close(lock);
  }
}

}  // namespace

WorkFolder::WorkFolder() {
  const char* set = std::getenv("TMPDIR");
  const std::string parent = set != nullptr && *set != '\0' ? set : "/tmp";
  remove_left_folders(parent);
  std::string name = fmt::format("{}/{}XXXXXX", parent, kPrefix);
  if (mkdtemp(name.data()) == nullptr) {
    throw FileError(fmt::format("no folder could be made in '{}' ({}): set TMPDIR to one that can be written", parent,
                                std::strerror(errno)));
  }
  path_ = name;
  lock_ = lock_folder(path_);
}

WorkFolder::~WorkFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  if (lock_ >= 0) close(lock_);
}

}  // namespace gputopo::cli
