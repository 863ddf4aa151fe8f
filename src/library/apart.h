// Work on a thread of its own, whose progress and log reach the caller on the caller's thread.
//
// The current CUDA context and HIP device belong to a thread: so the caller's stay as they are, whatever the work does,
// and callbacks find them. The caller waits meanwhile, and is asked whether to go on.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "gputopo/discover.h"
#include "gputopo/gputopo.h"

namespace gputopo::library {

struct LogLine {
  gputopo_log_level level = GPUTOPO_LOG_INFO;
  std::string text;
};

// What the work and the caller share. It lives as long as either of them.
class Apart {
 public:
  using Clock = std::chrono::steady_clock;
  using Event = std::variant<Progress, LogLine>;

  // For the work.
  void post(Event event);
  [[nodiscard]] const std::atomic<bool>& stop() const { return stop_; }
  // Throws EndedError once the caller wants no more.
  void require_going_on() const;
  // From now on the work calls drivers, for so many seconds at most; what takes longer never comes back.
  void expect_driver_within(double seconds);
  // It calls none any more.
  void expect_no_driver();

  // For the caller.
  struct News {
    std::vector<Event> events;
    bool is_done = false;
  };
  [[nodiscard]] News wait();
  void end();
  // Whether the work is in a call that will not come back.
  [[nodiscard]] bool is_stuck();
  void finish(std::exception_ptr failure);
  [[nodiscard]] const std::exception_ptr& failure() const { return failure_; }

 private:
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Event> events_;
  bool is_done_ = false;
  std::exception_ptr failure_;
  Clock::time_point driver_deadline_ = Clock::time_point::max();
};

struct Callbacks {
  std::function<void(const Apart::Event&)> take;
  std::function<bool()> is_cancelled;
};

// Throws what the work throws, EndedError where it was cancelled before it began, and DeviceLostError where a driver's
// call does not come back: its thread is left behind then, the only one that ever is. So `work` owns all it uses.
void run_apart(const std::shared_ptr<Apart>& apart, const std::function<void()>& work, const Callbacks& callbacks);

}  // namespace gputopo::library
