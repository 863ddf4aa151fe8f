#include "library/worker_thread.h"

#include <signal.h>  // NOLINT(modernize-deprecated-headers): of POSIX

#include <algorithm>
#include <thread>
#include <utility>

#include "gputopo/error.h"
#include "library/driver_use.h"

namespace gputopo::library {
namespace {

constexpr std::chrono::milliseconds kBetweenQuestions{50};
// A launch may last 2 s, and a driver's compilation longer.
constexpr std::chrono::milliseconds kPatienceAfterCancel{4500};

// The caller's signal handlers should run on the caller's threads, so the new thread receives no signals.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

// Joins the thread even if a callback throws.
class Worker {
 public:
  Worker(std::shared_ptr<WorkerState> apart, std::function<void()> work) : apart_(std::move(apart)) {
    const SignalsBlocked blocked;
    thread_ = std::thread([apart = apart_, work = std::move(work)]() mutable {
      std::exception_ptr failure;
      try {
        work();
      } catch (...) {
        failure = std::current_exception();
      }
      work = nullptr;  // frees what it holds before the caller continues
      apart->finish(std::move(failure));
    });
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() {
    apart_->end();
    if (thread_.joinable()) thread_.join();
  }
  void leave_behind() { thread_.detach(); }

 private:
  std::shared_ptr<WorkerState> apart_;
  std::thread thread_;
};

}  // namespace

void WorkerState::post(Event event) {
  const std::lock_guard lock(mutex_);
  events_.push_back(std::move(event));
  changed_.notify_one();
}

void WorkerState::throw_if_cancelled() const {
  if (stop_) throw EndedError("cancelled before anything was measured");
}

void WorkerState::expect_driver_within(double seconds) {
  constexpr double kMostSeconds = 1e6;  // the clock's range is a few hundred years
  const std::lock_guard lock(mutex_);
  driver_deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                        std::chrono::duration<double>(std::min(seconds, kMostSeconds)));
}

void WorkerState::expect_no_driver() {
  const std::lock_guard lock(mutex_);
  driver_deadline_ = Clock::time_point::max();
}

WorkerState::WorkerEvents WorkerState::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kBetweenQuestions, [this] { return is_done_ || !events_.empty(); });
  return {std::exchange(events_, {}), is_done_};
}

bool WorkerState::is_stuck() {
  const std::lock_guard lock(mutex_);
  return !is_done_ && Clock::now() > driver_deadline_;
}

void WorkerState::end() {
  const std::lock_guard lock(mutex_);
  if (stop_.exchange(true) || driver_deadline_ == Clock::time_point::max()) return;
  driver_deadline_ = std::min(driver_deadline_, Clock::now() + kPatienceAfterCancel);
}

void WorkerState::finish(std::exception_ptr failure) {
  const std::lock_guard lock(mutex_);
  failure_ = std::move(failure);
  is_done_ = true;
  changed_.notify_one();
}

void run_on_worker_thread(const std::shared_ptr<WorkerState>& apart, const std::function<void()>& work,
                          const Callbacks& callbacks) {
  if (callbacks.is_cancelled()) throw EndedError("cancelled before anything was measured");
  Worker worker(apart, work);
  for (bool is_done = false; !is_done;) {
    const WorkerState::WorkerEvents news = apart->wait();
    for (const WorkerState::Event& event : news.events) callbacks.take(event);
    is_done = news.is_done;
    if (is_done) break;
    if (callbacks.is_cancelled()) apart->end();
    if (!apart->is_stuck()) continue;
    worker.leave_behind();
    remember_stuck_driver();
    throw DeviceLostError(
        "a driver call does not return, and its thread cannot be stopped: end this process; if other processes hang, "
        "too, reload the driver or reboot");
  }
  if (apart->failure()) std::rethrow_exception(apart->failure());
}

}  // namespace gputopo::library
