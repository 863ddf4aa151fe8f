// A folder of files that are written together: all of them, or none stays.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "file/output_path.h"

namespace gputopo {

class FolderOutput {
 public:
  // Creates the folder, and those above it, if it is not there yet. Throws FileError, also if nothing can be written in
  // it.
  explicit FolderOutput(const std::string& path);
  FolderOutput(const FolderOutput&) = delete;
  FolderOutput& operator=(const FolderOutput&) = delete;
  // Without keep() what was written is removed, and so are the folders that were created.
  ~FolderOutput() { remove_own(); }

  void write(const std::string& name, std::string_view text);
  void keep();

 private:
  void remove_own() noexcept;

  std::filesystem::path path_;
  std::vector<NewFolder> created_;  // the outermost first
  Folder folder_;
  std::vector<std::string> files_;  // that were not there
};

// Throws FileError if FolderOutput(path) would, or if files are there: what an earlier run left would mix with what
// comes. Leaves no folder behind that was not there.
void check_empty_folder(const std::string& path);

}  // namespace gputopo
