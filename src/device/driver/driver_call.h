// Calls of vendors' libraries, which may never come back. While the watched thread is in one, another thread can see
// which and for how long, and can hold it there.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gputopo/times.h"

namespace gputopo {

// A driver that has rested sets up its GPUs one by one: to list eight takes some ten seconds.
inline constexpr double kPatienceToListSeconds = 30;
// GPUTOPO_PATIENCE: less patience, for tests.
[[nodiscard]] double seconds_of_patience(double most);

// The thread that calls this is the watched one from now on.
void watch_driver_calls();

struct RunningCall {
  std::string name;  // "cuCtxSynchronize"
  double seconds = 0;
};
// The call that the watched thread is in.
[[nodiscard]] std::optional<RunningCall> running_driver_call();
// Its name; null if it is in none. For handlers of signals.
[[nodiscard]] const char* name_of_running_driver_call() noexcept;

// Should the call that is running come back, the watched thread goes no further: what it works on may be read, and the
// process be ended. False if it is in none.
[[nodiscard]] bool hold_driver_call();

// The call that another thread is in, or was in at last.
using LastCall = std::atomic<const char*>;
// From now on those of this thread are told there; null: no longer.
void tell_driver_calls(LastCall* where);
// Returns once `ended`, which waits for no longer than it is told to, says so. This thread counts as in the other's
// call meanwhile.
void wait_in_call_of(const LastCall& other, const std::function<bool(std::chrono::milliseconds)>& ended);

// From now on how long this thread is in which calls is kept, for --profile.
void time_driver_calls();
[[nodiscard]] bool driver_calls_are_timed();
// Of this thread, by name.
[[nodiscard]] std::vector<NamedCallTimes> driver_call_times();

// While this lives, the thread is in the call.
class InDriverCall {
 public:
  explicit InDriverCall(const char* name);  // which must live on
  InDriverCall(const InDriverCall&) = delete;
  InDriverCall& operator=(const InDriverCall&) = delete;
  ~InDriverCall();

 private:
  const char* const name_;
  bool is_outermost_ = false;  // of a thread that is watched or timed
  std::chrono::steady_clock::time_point begin_;
};

// A function of a library, by its name there; null until it is set.
template <typename Signature>
class DriverFunction;

template <typename Result, typename... Arguments>
class DriverFunction<Result(Arguments...)> {
 public:
  using Signature = Result(Arguments...);

  void set(const char* name, void* symbol) {
    name_ = name;
    function_ = reinterpret_cast<Result (*)(Arguments...)>(symbol);
  }
  Result operator()(Arguments... arguments) const {
    const InDriverCall call(name_);
    return function_(arguments...);
  }
  friend bool operator==(const DriverFunction& function, std::nullptr_t) { return function.function_ == nullptr; }

 private:
  const char* name_ = "";
  Result (*function_)(Arguments...) = nullptr;
};

// Throws DeviceError for a result that a call must have given, and has not.
[[noreturn]] void throw_no_result(const std::string& call);
void require_result(const auto& result, const std::string& call) {
  if (!result) throw_no_result(call);
}

// What a library wrote into a buffer, which it may have filled without an end.
template <std::size_t Bytes>
[[nodiscard]] std::string text_in(const char (&buffer)[Bytes]) {
  const std::string text(buffer, Bytes);
  return text.substr(0, text.find('\0'));
}

}  // namespace gputopo
