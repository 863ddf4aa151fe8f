// Runs work on a separate thread, whose progress and log reach the caller on the caller's thread. The current CUDA
// context and HIP device belong to a thread, so those of the caller stay unchanged, also in callbacks. The caller
// waits meanwhile and decides whether the work goes on.
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

// The state that the work and the caller share. It lives as long as either of them.
class WorkerState {
 public:
  using Clock = std::chrono::steady_clock;
  using Event = std::variant<Progress, LogLine>;

  // ---- For the work ----
  void post(Event event);
  [[nodiscard]] const std::atomic<bool>& stop() const { return stop_; }
  // Throws EndedError if the caller has canceled.
  void throw_if_cancelled() const;
  // The work now calls drivers, for at most this many seconds. A call that takes longer counts as hung.
  void expect_driver_within(double seconds);
  // The work calls no driver any more.
  void expect_no_driver();

  // ---- For the caller ----
  struct WorkerEvents {
    std::vector<Event> events;
    bool is_done = false;
  };
  [[nodiscard]] WorkerEvents wait();
  void end();
  // Whether the work is in a driver call that counts as hung.
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
  std::function<void(const WorkerState::Event&)> take;
  std::function<bool()> is_cancelled;
};

// Throws what the work throws, EndedError if it was canceled before it began, and DeviceLostError if a driver call
// hangs. The thread is then left behind, the only case in which one is, so `work` must own everything that it uses.
void run_on_worker_thread(const std::shared_ptr<WorkerState>& apart, const std::function<void()>& work,
                          const Callbacks& callbacks);

}  // namespace gputopo::library
