#include "device/driver_call.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>

#include "gputopo/error.h"

namespace gputopo {
namespace {

enum class CallState : int { kNone, kRunning, kHeld };

// Of the watched thread. No locks: a call that hangs may hold any.
struct WatchedCalls {
  std::atomic<CallState> state = CallState::kNone;
  std::atomic<const char*> name = "";
  std::atomic<std::chrono::steady_clock::rep> since = 0;
};

WatchedCalls g_calls;
thread_local bool t_is_watched = false;
thread_local bool t_is_in_call = false;

}  // namespace

void watch_driver_calls() { t_is_watched = true; }

std::optional<RunningCall> running_driver_call() {
  if (g_calls.state != CallState::kRunning) return {};
  const std::chrono::steady_clock::duration since(g_calls.since);
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now().time_since_epoch() - since;
  return RunningCall{g_calls.name.load(), spent.count()};
}

bool hold_driver_call() {
  CallState expected = CallState::kRunning;
  return g_calls.state.compare_exchange_strong(expected, CallState::kHeld);
}

void throw_no_result(const std::string& call) {
  throw DeviceError(fmt::format(
      "{} says that it succeeded, but gives nothing: the driver does not work as it should; reload or update it",
      call));
}

InDriverCall::InDriverCall(const char* name) {
  if (!t_is_watched || t_is_in_call) return;
  is_outermost_ = t_is_in_call = true;
  g_calls.name = name;
  g_calls.since = std::chrono::steady_clock::now().time_since_epoch().count();
  g_calls.state = CallState::kRunning;
}

InDriverCall::~InDriverCall() {
  if (!is_outermost_) return;
  CallState expected = CallState::kRunning;
  while (!g_calls.state.compare_exchange_strong(expected, CallState::kNone)) {
    expected = CallState::kRunning;
    ::pause();  // another thread ends the process
  }
  t_is_in_call = false;
}

}  // namespace gputopo
