#include "cli/watchdog.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <optional>
#include <utility>

#include "cli/options.h"
#include "cli/standard_streams.h"
#include "device/driver/driver_call.h"
#include "file/unexpected.h"
#include "file/unfinished.h"

namespace gputopo::cli {
namespace {

constexpr std::chrono::milliseconds kLookEvery{50};
// Limits the time of a report that waits for something that the blocked call holds.
constexpr unsigned kSecondsToReport = 3;

extern "C" void on_report_blocked(int) {
  remove_unfinished();
  std::_Exit(kExitFailure);
}

}  // namespace

Watchdog::Watchdog(double budget_seconds, const std::atomic<bool>& interrupted, End end, double patience_seconds)
    : budget_seconds_(budget_seconds),
      patience_seconds_(limited_timeout(patience_seconds)),
      interrupted_(interrupted),
      end_(std::move(end)) {
  watch_driver_calls();
  thread_ = std::thread([this] { watch(); });
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Watchdog::restart() {
  const std::lock_guard lock(mutex_);
  begin_ = Clock::now();
}

void Watchdog::restart(double budget_seconds) {
  const std::lock_guard lock(mutex_);
  budget_seconds_ = budget_seconds;
  begin_ = Clock::now();
}

std::string Watchdog::problem() {
  if (interrupted_ && interrupted_at_ == Clock::time_point::max()) interrupted_at_ = Clock::now();
  const std::optional<RunningCall> call = running_driver_call();
  if (!call) return {};
  const bool is_late = seconds_since(begin_) > budget_seconds_ + patience_seconds_;
  const bool is_unwanted = interrupted_ && seconds_since(interrupted_at_) > patience_seconds_;
  // A call that has just begun may be one of many quick ones.
  const bool is_long = call->seconds > std::min(1.0, patience_seconds_);
  if (!is_long || (!is_late && !is_unwanted)) return {};
  return fmt::format(
      "{} has not returned for {:.1f} s: the GPU or its driver hangs; see the kernel log (dmesg), and reset the GPU or "
      "reboot",
      call->name, call->seconds);
}

void Watchdog::watch() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kLookEvery, [this] { return ends_; })) {
    const std::string text = problem();
    if (text.empty() || !hold_driver_call()) continue;
    std::signal(SIGALRM, on_report_blocked);
    ::alarm(kSecondsToReport);
    try {
      end_(text);
    } catch (const std::exception& error) {
      say(fmt::format("gputopo: error: {}", explain_unexpected(error)));
    }
    remove_unfinished();
    std::_Exit(interrupted_ ? kExitInterrupted : kExitFailure);
  }
}

}  // namespace gputopo::cli
