// Calls of vendors' libraries, which may never return. While the watched thread is in one, another thread can see which
// call it is and for how long, and can hold it there.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gputopo/times.h"

namespace gputopo {

// An idle driver sets up its GPUs one by one, so listing eight takes some ten seconds.
inline constexpr double kPatienceToListSeconds = 30;
// Returns `most`, or less if GPUTOPO_PATIENCE is set, for tests.
[[nodiscard]] double limited_timeout(double most);

// Makes the calling thread the watched one.
void watch_driver_calls();

struct RunningCall {
  std::string name;  // "cuCtxSynchronize"
  double seconds = 0;
};
// Returns the call that the watched thread is in.
[[nodiscard]] std::optional<RunningCall> running_driver_call();
// Returns the call's name, or null outside of calls. Safe in signal handlers.
[[nodiscard]] const char* name_of_running_driver_call() noexcept;

// Stops the watched thread if its running call returns, so that its data may be read and the process be ended. Returns
// false if it is in no call.
[[nodiscard]] bool hold_driver_call();

// The current or last call of another thread.
using LastCall = std::atomic<const char*>;
// Writes the calls of this thread there from now on; null: no longer.
void publish_driver_calls(LastCall* where);
// Returns when `ended`, which waits at most as long as its argument says, returns true. Meanwhile this thread counts as
// being in the other thread's call.
void wait_on_behalf_of(const LastCall& other, const std::function<bool(std::chrono::milliseconds)>& ended);

// Records from now on how long this thread spends in each call, for --profile.
void time_driver_calls();
[[nodiscard]] bool driver_calls_are_timed();
// Returns the calls of this thread, by name.
[[nodiscard]] std::vector<NamedCallTimes> driver_call_times();

// The thread is in the call while this object lives.
class InDriverCall {
 public:
  explicit InDriverCall(const char* name);  // `name` must stay valid
  InDriverCall(const InDriverCall&) = delete;
  InDriverCall& operator=(const InDriverCall&) = delete;
  ~InDriverCall();

 private:
  const char* const name_;
  bool is_outermost_ = false;  // of a thread that is watched or timed
  std::chrono::steady_clock::time_point begin_;
};

// A function of a library, with its name there; null until it is set.
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

// Throws DeviceError for a call that succeeded without the result that it must give.
[[noreturn]] void throw_no_result(const std::string& call);
void require_result(const auto& result, const std::string& call) {
  if (!result) throw_no_result(call);
}

// Converts a buffer that a library filled, perhaps without a terminating zero.
template <std::size_t Bytes>
[[nodiscard]] std::string text_in(const char (&buffer)[Bytes]) {
  const std::string text(buffer, Bytes);
  return text.substr(0, text.find('\0'));
}

}  // namespace gputopo
