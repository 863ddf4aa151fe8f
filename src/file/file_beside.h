// A new file beside the one that it is to become, so that a file is there whole or not at all.
//
// The folder may belong to somebody else, who puts links where a file is to come. So the file beside has a name that
// nobody can guess and must not exist yet (O_EXCL, which follows no link).
//
// A process that is killed leaves its file behind. Whoever writes one holds a lock on it (flock) until it has its final
// name, and the next one that writes into the folder removes those of this user that nobody holds.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "file/output_path.h"
#include "file/unfinished.h"

namespace gputopo {

// It goes away with this object unless it becomes the target.
class FileBeside {
 public:
  // `mode`: as open(2) takes it, from which the umask is taken off.
  FileBeside(Folder folder, mode_t mode);
  FileBeside(const FileBeside&) = delete;
  FileBeside& operator=(const FileBeside&) = delete;
  ~FileBeside();
  // False: it could not be made, and errno says why.
  [[nodiscard]] bool is_open() const { return file_ && file_->is_open(); }
  [[nodiscard]] int fd() const { return file_->fd(); }
  // Writes the text and takes the name. False with errno set.
  [[nodiscard]] bool become(const std::string& name, std::string_view text);

 private:
  void make(mode_t mode);
  // False: another process may have removed the file, or is about to.
  [[nodiscard]] bool hold();
  void remove();

  Folder folder_;
  std::string name_;
  std::optional<UnfinishedFile> unfinished_;
  std::optional<OpenFile> file_;
  std::optional<OpenFile> lock_;  // the same open file: the lock outlasts the check for errors of closing it
  bool is_ours_ = false;
};

// Removes the files that killed processes of this user have left in the folder. What cannot be removed stays.
void remove_abandoned_files(const Folder& folder) noexcept;

}  // namespace gputopo
