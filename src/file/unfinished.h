// Files that are not whole yet. A signal that ends the process removes them first.
#pragma once

#include <string>

namespace gputopo {

// Holds the name of an unfinished file, so that remove_unfinished() finds it.
class UnfinishedFile {
 public:
  // Within an open folder, which must live on.
  UnfinishedFile(int folder, const std::string& name);
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;
  ~UnfinishedFile();

 private:
  int slot_ = -1;  // none: all were taken, or the name is too long
};

// Removes the unfinished files. For signal handlers and for threads that end the process: it calls unlinkat() alone.
void remove_unfinished() noexcept;

}  // namespace gputopo
