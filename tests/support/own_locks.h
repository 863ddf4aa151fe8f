// Locks of GPUs that only this process sees: tests run side by side, and all of their fake GPUs have one address.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace gputopo::test {

// From the first call on, until the process ends; a folder that a test has chosen itself stays.
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
