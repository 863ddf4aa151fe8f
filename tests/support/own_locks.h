// GPU locks that only this process sees: tests run in parallel, and all fake GPUs have the same address.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace gputopo::test {

// Takes effect until the process ends. A folder that a test has chosen stays.
inline void keep_locks_apart() {
  struct Folder {
    Folder() : path((std::filesystem::temp_directory_path() / "gputopo-locks-XXXXXX").string()), owner(getpid()) {
      if (mkdtemp(path.data()) != nullptr) setenv("GPUTOPO_LOCK_DIR", path.c_str(), 0);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    ~Folder() {
      if (getpid() == owner) std::filesystem::remove_all(path);
    }
    std::string path;
    pid_t owner;
  };
  static const Folder folder;
}

}  // namespace gputopo::test
