// Resolves the path of an output through trustworthy links only.
//
// Whoever may write to a folder may put a link there to a place where only the user of gputopo may write. So the path
// is walked folder by folder, each folder stays open, and output goes into the open one; replacing a folder meanwhile
// has no effect. openat2(2) is no alternative: it follows all links or none, whoever owns them.
#pragma once

#include <sys/stat.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace gputopo {

// Owns an open file or folder.
class OpenFile {
 public:
  explicit OpenFile(int fd) : fd_(fd) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile();
  [[nodiscard]] bool is_open() const { return fd_ >= 0; }
  [[nodiscard]] int fd() const { return fd_; }
  // False with errno set: a full disk may show only on closing.
  [[nodiscard]] bool close();

 private:
  int fd_;
};

using Folder = std::shared_ptr<const OpenFile>;

// The end of a path.
struct PathEnd {
  Folder folder;     // null: this folder or a parent does not exist
  std::string name;  // within the folder; never a link
  bool exists = false;
  struct stat status {};  // if it exists
};

// Throws FileError for links that belong to neither this user nor root, for too many links, and for folders without
// search permission. The end may be of any kind, and need not exist.
[[nodiscard]] PathEnd find_path_end(const std::string& path);

// A created folder: its parent, and its name.
using NewFolder = std::pair<Folder, std::string>;

inline constexpr mode_t kNewFolderMode = 0777;  // less the umask, which the kernel applies

// Opens a folder. Missing folders are created with `mode` and added to `created`. Throws FileError as above.
[[nodiscard]] Folder open_or_create_folder(const std::string& path, std::vector<NewFolder>& created,
                                           mode_t mode = kNewFolderMode);

}  // namespace gputopo
