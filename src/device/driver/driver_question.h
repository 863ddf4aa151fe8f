// Asks a vendor's driver in a child process, so a driver that aborts, crashes or hangs ends only that process.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "device/driver/driver_call.h"

namespace gputopo {

// Whether this process has loaded one of these libraries. Drivers do not survive a fork, so a driver that this process
// already uses must be asked here.
[[nodiscard]] bool uses_any_of(const std::vector<std::string>& libraries);

class DriverQuestion {
 public:
  // Forks a process that calls `ask`. Apart from calls of drivers `ask` must be quick, and it must not need the other
  // threads of this process, which the child lacks. `backend`: "cuda", for messages.
  DriverQuestion(std::string backend, const std::function<std::string()>& ask);
  DriverQuestion(const DriverQuestion&) = delete;
  DriverQuestion& operator=(const DriverQuestion&) = delete;
  // Ends the process.
  ~DriverQuestion();

  struct Answer {
    std::string text;     // what `ask` returned
    std::string problem;  // one line, if there is no answer
  };
  // Waits at most kPatienceToListSeconds from the time of the question.
  [[nodiscard]] Answer wait();

 private:
  // Returns at the end of the answer or the process, or when the driver has not returned for too long.
  [[nodiscard]] std::string read_until_end(bool& is_late);
  [[nodiscard]] std::string problem_of(bool is_late);
  [[nodiscard]] bool has_ended_within(std::chrono::milliseconds longest, int& status);

  std::string backend_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point end_;
  LastCall* call_ = nullptr;  // shared by both processes
  pid_t process_ = -1;        // 0: it has ended
  bool has_answered_ = false;
  int error_ = 0;  // why there is no process
  int answer_ = -1;
};

}  // namespace gputopo
