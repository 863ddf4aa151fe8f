// A folder of files that are written together: all of them or none.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "file/output_path.h"

namespace gputopo {

class FolderOutput {
 public:
  // Creates the folder and its missing parents. Throws FileError, also if the folder is not writable.
  explicit FolderOutput(const std::string& path);
  FolderOutput(const FolderOutput&) = delete;
  FolderOutput& operator=(const FolderOutput&) = delete;
  // Without keep(), removes the files and folders that were created.
  ~FolderOutput() { remove_own(); }

  void write(const std::string& name, std::string_view text);
  void keep();

 private:
  void remove_own() noexcept;

  std::filesystem::path path_;
  std::vector<NewFolder> created_;  // outermost first
  Folder folder_;
  std::vector<std::string> files_;  // files that did not exist before
};

// Throws FileError if FolderOutput(path) would, or if it has files, which would mix with new ones. Leaves no new
// folder behind.
void check_empty_folder(const std::string& path);

}  // namespace gputopo
