// A folder for files that nobody needs afterwards.
#pragma once

#include <filesystem>
#include <string>

namespace gputopo::cli {

// In TMPDIR, or /tmp. Gone with all that is in it; where its process was killed, the next one removes it.
class WorkFolder {
 public:
  // Throws FileError.
  WorkFolder();
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;
  ~WorkFolder();
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
  int lock_ = -1;  // held while the folder is in use
};

}  // namespace gputopo::cli
