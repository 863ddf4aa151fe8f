// A call of the driver that does not come back: the measurement ends nevertheless, soon after its budget.
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

// A launch may last 2 s, and what a driver compiles longer; what takes this long beyond the budget does not come back.
inline constexpr double kPatienceSeconds = 4.5;

[[nodiscard]] inline double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

class Watchdog {
 public:
  // Watches this thread's calls. A call is blocked that runs when the budget and a few seconds more have passed, or
  // when the user asked for an end a few seconds ago. Then `end` says so and reports, while this thread is held within
  // the call: what it works on may be read, but for its locks. Then, or after some more seconds, the process ends.
  using End = std::function<void(const std::string& problem)>;
  Watchdog(double budget_seconds, const std::atomic<bool>& interrupted, End end,
           double patience_seconds = kPatienceSeconds);
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;
  ~Watchdog();

  // The budget begins now.
  void restart();
  // From now on it is another budget.
  void restart(double budget_seconds);

 private:
  using Clock = std::chrono::steady_clock;

  void watch();
  // Why the call that is running is blocked. Empty: none is.
  [[nodiscard]] std::string problem();

  double budget_seconds_;
  const double patience_seconds_;
  const std::atomic<bool>& interrupted_;
  const End end_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ends_ = false;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point interrupted_at_ = Clock::time_point::max();  // seen
  std::thread thread_;
};

}  // namespace gputopo::cli
