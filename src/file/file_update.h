// A file that is read, changed and written back, by one process at a time.
#pragma once

#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "file/output_path.h"

namespace gputopo {

// Holds a lock from its construction on, so that nothing is lost of what others write. The file is replaced by
// renaming, so the lock is on a file beside it (".NAME.lock"), which stays: removing it would let two processes hold
// locks on two files of that name. Pipes and devices are not locked.
class FileUpdate {
 public:
  // Waits for other processes for as long as `patience`. `say` receives a line when it begins to wait, and one where
  // the file system has no locks. Throws FileError.
  FileUpdate(std::string path, std::chrono::duration<double> patience,
             const std::function<void(const std::string& line)>& say);
  // What is in the file; nothing if there is no such file. Throws FileError.
  [[nodiscard]] std::optional<std::string> read(std::uint64_t max_bytes);
  // Throws FileError, also where the file is not the one that read() saw: somebody changed it without the lock.
  void write(std::string_view text) const;

 private:
  std::string path_;
  std::shared_ptr<const OpenFile> lock_;  // ends with it
  std::optional<PathEnd> read_;
};

}  // namespace gputopo
