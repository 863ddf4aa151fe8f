// A file that one process at a time reads, changes and writes back.
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

// Holds a lock from its construction on, so that no writer's changes are lost. Writing replaces the file by renaming,
// so the lock is on a file beside it (".NAME.lock"). That file stays: if it were removed, two processes could hold
// locks on two files of that name. Pipes and devices are not locked.
class FileUpdate {
 public:
  // Waits up to `patience` for others. `say` gets a line when a wait begins or locks do not work. Throws FileError.
  FileUpdate(std::string path, std::chrono::duration<double> patience,
             const std::function<void(const std::string& line)>& say);
  // The contents; nothing if there is no file. Throws FileError.
  [[nodiscard]] std::optional<std::string> read(std::uint64_t max_bytes);
  // Throws FileError, also if the file is not the one that read() saw: somebody changed it without the lock.
  void write(std::string_view text) const;

 private:
  std::string path_;
  std::shared_ptr<const OpenFile> lock_;  // held until destruction
  std::optional<PathEnd> read_;
};

}  // namespace gputopo
