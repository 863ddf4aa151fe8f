#include "file/folder_output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <system_error>

#include "file/file_failure.h"
#include "file/output.h"
#include "gputopo/error.h"
#include "gputopo/file.h"

namespace gputopo {

namespace fs = std::filesystem;

FolderOutput::FolderOutput(const std::string& path) : path_(path) {
  try {
    folder_ = open_or_create_folder(path, created_);
    check_writable(path_ / "device.txt");
  } catch (...) {
    remove_own();
    throw;
  }
}

void FolderOutput::write(const std::string& name, std::string_view text) {
  const bool is_new = ::faccessat(folder_->fd(), name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) != 0;
  write_file(path_ / name, text);
  if (is_new) files_.push_back(name);
}

void FolderOutput::keep() {
  files_.clear();
  created_.clear();
}

void FolderOutput::remove_own() noexcept {
  for (const std::string& name : files_) ::unlinkat(folder_->fd(), name.c_str(), 0);
  // A folder that somebody else has put a file into stays.
  for (; !created_.empty(); created_.pop_back()) {
    ::unlinkat(created_.back().first->fd(), created_.back().second.c_str(), AT_REMOVEDIR);
  }
}

void check_empty_folder(const std::string& path) {
  const FolderOutput folder(path);
  std::error_code error;
  const bool is_empty = fs::is_empty(path, error);
  if (error) fail_on_file("read", path, error.value());
  if (!is_empty) {
    throw FileError(
        fmt::format("the folder '{}' is not empty, so its files would mix with new ones; name another folder", path));
  }
}

}  // namespace gputopo
