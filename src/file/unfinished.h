// Incomplete files. A signal that ends the process removes them first.
#pragma once

#include <string>

namespace gputopo {

// Records the name of an incomplete file, so that remove_unfinished() finds it.
class UnfinishedFile {
 public:
  // `folder`: an open folder that must outlive this object.
  UnfinishedFile(int folder, const std::string& name);
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;
  ~UnfinishedFile();

 private:
  int slot_ = -1;  // none: all slots were taken, or the name is too long
};

// Removes the incomplete files. Signal handlers and ending threads may call it, for it only calls unlinkat().
void remove_unfinished() noexcept;

}  // namespace gputopo
