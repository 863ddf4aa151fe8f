// Times of a device, for --profile.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gputopo {

// The purpose of a driver call. Copying calls also wait: for the GPU to reach them, and for the copy.
enum class CallKind : std::uint8_t { kCompile, kAllocate, kCopy, kLaunch, kWait, kOther };
inline constexpr std::array kAllCallKinds = {CallKind::kCompile, CallKind::kAllocate, CallKind::kCopy,
                                             CallKind::kLaunch,  CallKind::kWait,     CallKind::kOther};
// "compile", "wait", ...
[[nodiscard]] std::string_view to_string(CallKind kind);
// The kind of a call by its name in the library: "cuMemAlloc_v2".
[[nodiscard]] CallKind kind_of_call(std::string_view name);

struct CallTimes {
  std::uint64_t calls = 0;
  double seconds = 0;
  friend bool operator==(const CallTimes&, const CallTimes&) = default;
};

struct NamedCallTimes {
  std::string name;
  CallTimes times;
  friend bool operator==(const NamedCallTimes&, const NamedCallTimes&) = default;
};

struct DeviceTimes {
  double gpu_seconds = 0;  // time of kernels; 0 if the driver does not report it
  std::array<CallTimes, kAllCallKinds.size()> calls = {};

  [[nodiscard]] CallTimes& of(CallKind kind) { return calls[static_cast<std::size_t>(kind)]; }
  [[nodiscard]] const CallTimes& of(CallKind kind) const { return calls[static_cast<std::size_t>(kind)]; }
  // Seconds in all driver calls.
  [[nodiscard]] double driver_seconds() const;
  DeviceTimes& operator+=(const DeviceTimes& other);
  DeviceTimes& operator-=(const DeviceTimes& other);  // `other` must be a part of this
  friend bool operator==(const DeviceTimes&, const DeviceTimes&) = default;
};

[[nodiscard]] DeviceTimes by_kind(const std::vector<NamedCallTimes>& calls);

}  // namespace gputopo
