// A question to a vendor's driver that a process of its own asks: a driver that aborts, crashes or never answers ends
// that process alone.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "device/driver/driver_call.h"

namespace gputopo {

// Whether this process has one of these libraries loaded. Drivers do not outlive a fork, so only this process can ask
// one that it uses already.
[[nodiscard]] bool uses_any_of(const std::vector<std::string>& libraries);

class DriverQuestion {
 public:
  // Forks a process that calls `ask`, which may use drivers and must be quick otherwise: other threads of this process
  // are not in it. `backend`: "cuda", for messages.
  DriverQuestion(std::string backend, const std::function<std::string()>& ask);
  DriverQuestion(const DriverQuestion&) = delete;
  DriverQuestion& operator=(const DriverQuestion&) = delete;
  // The process is gone then.
  ~DriverQuestion();

  struct Answer {
    std::string text;     // what `ask` returned
    std::string problem;  // one line, where there is no answer
  };
  // Waits for kPatienceToListSeconds since the question was asked, at most.
  [[nodiscard]] Answer wait();

 private:
  // Once the driver has been called for so long that it never comes back, or the process has ended.
  [[nodiscard]] std::string read_until_end(bool& is_late);
  [[nodiscard]] std::string problem_of(bool is_late);
  [[nodiscard]] bool has_ended_within(std::chrono::milliseconds longest, int& status);

  std::string backend_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point end_;
  LastCall* call_ = nullptr;  // in memory that both processes have
  pid_t process_ = -1;        // 0: it has ended
  bool has_answered_ = false;
  int error_ = 0;  // why there is no process
  int answer_ = -1;
};

}  // namespace gputopo
