// A temporary file beside its target, so that the target is complete or absent.
//
// The folder may belong to somebody else, who may put links where files are expected. So the temporary file has an
// unguessable name and must not exist yet (O_EXCL, which follows no link).
//
// A killed process leaves its temporary file behind. A writer holds a lock (flock) on the file until it has its final
// name. The next writer in the folder removes this user's temporary files without a lock.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "file/output_path.h"
#include "file/unfinished.h"

namespace gputopo {

// Removed with this object unless it becomes the target.
class TemporaryFile {
 public:
  // `mode`: as for open(2), before the umask.
  TemporaryFile(Folder folder, mode_t mode);
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile();
  // False with errno set if the file could not be created.
  [[nodiscard]] bool is_open() const { return file_ && file_->is_open(); }
  [[nodiscard]] int fd() const { return file_->fd(); }
  // Writes the text and renames the file to `name`. False with errno set.
  [[nodiscard]] bool commit_as(const std::string& name, std::string_view text);

 private:
  void make(mode_t mode);
  // False if another process may have removed the file or is about to.
  [[nodiscard]] bool hold();
  void remove();

  Folder folder_;
  std::string name_;
  std::optional<UnfinishedFile> unfinished_;
  std::optional<OpenFile> file_;
  std::optional<OpenFile> lock_;  // the same open file: keeps the lock beyond close(), whose errors must be checked
  bool is_ours_ = false;
};

// Removes the files that killed processes of this user left in the folder, if it can.
void remove_abandoned_files(const Folder& folder) noexcept;

}  // namespace gputopo
