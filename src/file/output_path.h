// Where the path of an output leads, through links that can be trusted.
//
// Whoever may write to a folder may put a link there, to where only the user of gputopo may write. So the path is
// walked folder by folder, each of them stays open, and what is written goes into the open one: what others put in its
// place meanwhile changes nothing. openat2(2) cannot replace this: it follows all links or none, whoever owns them.
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
  // False with errno set: a full disk may show only here.
  [[nodiscard]] bool close();

 private:
  int fd_;
};

using Folder = std::shared_ptr<const OpenFile>;

// What stands at the end of a path.
struct PathEnd {
  Folder folder;     // null: it, or one above it, is not there
  std::string name;  // within it; no link
  bool exists = false;
  struct stat status {};  // if it exists
};

// Throws FileError for links of other users than this one and root, for too many links, and for folders that may not be
// searched. The end may be anything, and need not be there.
[[nodiscard]] PathEnd find_path_end(const std::string& path);

// A folder that was created, and the one above it.
using NewFolder = std::pair<Folder, std::string>;

inline constexpr mode_t kNewFolderMode = 0777;  // less the umask, which the kernel takes off

// The folder of this path; those that are missing are created with `mode`, and added to `created`. Throws FileError as
// above.
[[nodiscard]] Folder open_or_create_folder(const std::string& path, std::vector<NewFolder>& created,
                                           mode_t mode = kNewFolderMode);

}  // namespace gputopo
