#include "device/driver/driver_call.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <map>
#include <string_view>
#include <unordered_map>

#include "file/environment.h"
#include "gputopo/error.h"

namespace gputopo {
namespace {

enum class CallState : int { kNone, kRunning, kHeld };

// State of the watched thread. It uses no locks, because a hung call may hold any.
struct WatchedCalls {
  std::atomic<CallState> state = CallState::kNone;
  std::atomic<const char*> name = "";
  std::atomic<std::chrono::steady_clock::rep> since = 0;
};

WatchedCalls g_calls;
thread_local bool t_is_watched = false;
thread_local bool t_is_timed = false;
thread_local bool t_is_in_call = false;
thread_local LastCall* t_told = nullptr;
thread_local std::unordered_map<const char*, CallTimes> t_times;  // by address of the name

}  // namespace

double limited_timeout(double most) {
  const char* text = environment_variable("GPUTOPO_PATIENCE");
  const double seconds = text == nullptr ? 0 : std::atof(text);
  return seconds > 0 ? std::min(seconds, most) : most;
}

void watch_driver_calls() { t_is_watched = true; }

std::optional<RunningCall> running_driver_call() {
  if (g_calls.state != CallState::kRunning) return {};
  const std::chrono::steady_clock::duration since(g_calls.since);
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now().time_since_epoch() - since;
  return RunningCall{g_calls.name.load(), spent.count()};
}

const char* name_of_running_driver_call() noexcept {
  return g_calls.state == CallState::kRunning ? g_calls.name.load() : nullptr;
}

bool hold_driver_call() {
  CallState expected = CallState::kRunning;
  return g_calls.state.compare_exchange_strong(expected, CallState::kHeld);
}

void throw_no_result(const std::string& call) {
  throw DeviceError(fmt::format(
      "{} reported success but returned nothing: the driver is not working correctly; reload or update it", call));
}

void time_driver_calls() { t_is_timed = true; }

void publish_driver_calls(LastCall* where) { t_told = where; }

void wait_on_behalf_of(const LastCall& other, const std::function<bool(std::chrono::milliseconds)>& ended) {
  constexpr std::chrono::milliseconds kLook{100};
  while (!ended(std::chrono::milliseconds(0))) {
    const char* const name = other.load();
    const InDriverCall call(name);
    while (other.load() == name && !ended(kLook)) {
    }
  }
}

bool driver_calls_are_timed() { return t_is_timed; }

std::vector<NamedCallTimes> driver_call_times() {
  std::map<std::string_view, CallTimes> by_name;
  for (const auto& [name, times] : t_times) {
    by_name[name].calls += times.calls;
    by_name[name].seconds += times.seconds;
  }
  std::vector<NamedCallTimes> calls;
  for (const auto& [name, times] : by_name) calls.push_back({std::string(name), times});
  return calls;
}

InDriverCall::InDriverCall(const char* name) : name_(name) {
  if (t_told != nullptr) *t_told = name;
  if ((!t_is_watched && !t_is_timed) || t_is_in_call) return;
  is_outermost_ = t_is_in_call = true;
  begin_ = std::chrono::steady_clock::now();
  if (!t_is_watched) return;
  g_calls.name = name;
  g_calls.since = begin_.time_since_epoch().count();
  g_calls.state = CallState::kRunning;
}

InDriverCall::~InDriverCall() {
  if (!is_outermost_) return;
  if (t_is_timed) {
    CallTimes& times = t_times[name_];
    ++times.calls;
    times.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }
  CallState expected = CallState::kRunning;
  while (t_is_watched && !g_calls.state.compare_exchange_strong(expected, CallState::kNone)) {
    expected = CallState::kRunning;
    ::pause();  // another thread ends the process
  }
  t_is_in_call = false;
}

}  // namespace gputopo
