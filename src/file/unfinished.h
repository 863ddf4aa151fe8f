// Files that are not whole yet. A signal that ends the process removes them first.
#pragma once

#include <string>

namespace gputopo {

// Holds the name of an unfinished file, so that remove_unfinished() finds it.
class UnfinishedFile {
 public:
  explicit UnfinishedFile(const std::string& path);
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;
  ~UnfinishedFile();

 private:
  int slot_ = -1;  // none: all were taken, or the path is too long to be opened
};

// Removes the unfinished files. For signal handlers and for threads that end the process: it calls unlink() alone.
void remove_unfinished() noexcept;

}  // namespace gputopo
