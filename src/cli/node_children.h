// The processes that measure the GPUs of a node. Every wait for one of them ends: a process may hang in its driver, or
// be stopped by a signal.
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

// One end is held by processes, the other tells when none of them does any more.
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

// What a process writes for this one. It has no name that anybody could remove, and is gone with its last user.
class MemoryFile {
 public:
  // Throws FileError.
  explicit MemoryFile(const char* name);
  [[nodiscard]] int fd() const { return file_->fd(); }
  // All of it. Throws FileError where it is longer than any file of gputopo.
  [[nodiscard]] std::string text() const;

 private:
  std::shared_ptr<const OpenFile> file_;
};

class Children {
 public:
  Children() = default;
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;
  // Those that still run are ended.
  ~Children();

  // Runs this program with these arguments, behind its name. It finds a file to write its report to at report_path().
  // Throws FileError.
  void start(std::vector<std::string> arguments, const Pipe& until_open, std::size_t gpu);
  [[nodiscard]] static std::string report_path();
  [[nodiscard]] std::size_t count() const { return running_.size(); }

  struct Ended {
    std::size_t gpu = 0;
    int status = 0;      // of waitpid()
    std::string killed;  // why this process ended it; empty: it ended by itself
    MemoryFile report;
    MemoryFile messages;  // its standard error
  };
  // Those that have ended since. `interrupted`: they are told, and have some seconds. One that runs for much longer
  // than its budget hangs, and is ended; sooner if it is stopped.
  [[nodiscard]] std::vector<Ended> ended(bool interrupted, double budget_seconds);

 private:
  using Clock = std::chrono::steady_clock;
  struct Child {
    std::size_t gpu = 0;
    MemoryFile report;
    MemoryFile messages;
    Clock::time_point begin = Clock::now();
    Clock::time_point told = Clock::time_point::max();  // to end
    bool is_stopped = false;
  };
  // Why it is to be killed now; empty: it is not.
  [[nodiscard]] static std::string reason_to_kill(const Child& child, double budget_seconds);

  std::map<pid_t, Child> running_;
};

}  // namespace gputopo::cli
