// Ends a measurement whose driver call hangs, soon after its budget.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "device/driver/driver_call.h"

namespace gputopo::cli {

// A launch may last 2 s, and a driver's compilation longer. A call that exceeds the budget by this much hangs.
inline constexpr double kPatienceSeconds = 4.5;

[[nodiscard]] inline double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

class Watchdog {
 public:
  // Watches the driver calls of this thread. A call counts as hung if it still runs this long after the budget or
  // after an interrupt. Then `end` reports, while this thread is held in the call: `end` may read the thread's data,
  // but not take its locks. After that, or after a few seconds, the process ends.
  using End = std::function<void(const std::string& problem)>;
  Watchdog(double budget_seconds, const std::atomic<bool>& interrupted, End end,
           double patience_seconds = kPatienceSeconds);
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  ~Watchdog();

  // Restarts the budget now.
  void restart();
  // The same with another budget.
  void restart(double budget_seconds);

 private:
  using Clock = std::chrono::steady_clock;

  void watch();
  // Why the running call counts as hung; empty: none does.
  [[nodiscard]] std::string problem();

  double budget_seconds_;
  const double patience_seconds_;
  const std::atomic<bool>& interrupted_;
  const End end_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ends_ = false;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point interrupted_at_ = Clock::time_point::max();  // when the interrupt was seen
  std::thread thread_;
};

}  // namespace gputopo::cli
