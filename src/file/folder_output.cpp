#include "file/folder_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "file/file_failure.h"
#include "file/writable.h"
#include "gputopo/error.h"
#include "gputopo/file.h"

namespace gputopo {

namespace fs = std::filesystem;

FolderOutput::FolderOutput(const std::string& path) : path_(path) {
  std::error_code error;
  std::vector<fs::path> missing;
  for (fs::path folder = fs::absolute(path).lexically_normal();
       !fs::exists(folder, error) && folder.has_relative_path(); folder = folder.parent_path()) {
    if (folder.has_filename()) missing.push_back(folder);
  }
  std::ranges::reverse(missing);
  own_ = std::move(missing);
  fs::create_directories(path, error);
  if (error) {
    remove_own();
    fail_on_file("create the folder", path, error.value());
  }
  try {
    check_writable(path_ / "device.txt");
  } catch (...) {
    remove_own();
    throw;
  }
}

void FolderOutput::write(const std::string& name, std::string_view text) {
  const fs::path file = path_ / name;
  std::error_code error;
  const bool is_new = !fs::exists(file, error);
  write_file(file, text);
  if (is_new) own_.push_back(file);
}

void FolderOutput::keep() { own_.clear(); }

void FolderOutput::remove_own() noexcept {
  std::error_code ignored;
  // A folder that somebody else has put a file into meanwhile stays.
  for (; !own_.empty(); own_.pop_back()) fs::remove(own_.back(), ignored);
}

void check_empty_folder(const std::string& path) {
  const FolderOutput folder(path);
  std::error_code error;
  const bool is_empty = fs::is_empty(path, error);
  if (error) fail_on_file("read", path, error.value());
  if (!is_empty) {
    throw FileError(
        fmt::format("the folder '{}' is not empty, and its files would mix with new ones; name another", path));
  }
}

}  // namespace gputopo
