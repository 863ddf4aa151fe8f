// The processes that measure the GPUs of a node. Every wait for one is bounded: it may hang or be stopped.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "file/output_path.h"

namespace gputopo::cli {

// Processes hold the write end; the read end shows when none of them does any more.
class Pipe {
 public:
  // Throws FileError.
  Pipe();
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe();
  [[nodiscard]] int write_end() const { return write_end_; }
  void close_write_end();
  void wait_for_end(std::chrono::milliseconds longest) const;

 private:
  int read_end_ = -1;
  int write_end_ = -1;
};

// A file that a process writes for this one. It has no name that anybody could remove, and ends with its last user.
class MemoryFile {
 public:
  // Throws FileError.
  explicit MemoryFile(const char* name);
  [[nodiscard]] int fd() const { return file_->fd(); }
  // The whole text. Throws FileError if it is longer than any file of gputopo.
  [[nodiscard]] std::string text() const;

 private:
  std::shared_ptr<const OpenFile> file_;
};

class Children {
 public:
  Children() = default;
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;
  // Kills the remaining processes.
  ~Children();

  // Runs this program with arguments after its name. It writes its report to report_path(). Throws FileError.
  void start(std::vector<std::string> arguments, const Pipe& until_open, std::size_t gpu);
  [[nodiscard]] static std::string report_path();
  [[nodiscard]] std::size_t count() const { return running_.size(); }

  struct Ended {
    std::size_t gpu = 0;
    int status = 0;      // as from waitpid()
    std::string killed;  // why this process killed it; empty: it ended by itself
    MemoryFile report;
    MemoryFile messages;  // its standard error
  };
  // The children that have ended since the last call. `interrupted`: children are told to end and get some seconds. A
  // child far beyond its budget hangs and is killed; a stopped child is killed sooner.
  [[nodiscard]] std::vector<Ended> ended(bool interrupted, double budget_seconds);

 private:
  using Clock = std::chrono::steady_clock;
  struct Child {
    std::size_t gpu = 0;
    MemoryFile report;
    MemoryFile messages;
    Clock::time_point begin = Clock::now();
    Clock::time_point told = Clock::time_point::max();  // when it was told to end
    bool is_stopped = false;
  };
  // Why the child must be killed now; empty: it need not.
  [[nodiscard]] static std::string reason_to_kill(const Child& child, double budget_seconds);

  std::map<pid_t, Child> running_;
};

}  // namespace gputopo::cli
