// Where the time of a device goes: what --profile keeps.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gputopo {

// What calls of a driver are for. Those that copy wait, too: for the GPU to come to it, and for the copy.
enum class CallKind : std::uint8_t { kCompile, kAllocate, kCopy, kLaunch, kWait, kOther };
inline constexpr std::array kAllCallKinds = {CallKind::kCompile, CallKind::kAllocate, CallKind::kCopy,
                                             CallKind::kLaunch,  CallKind::kWait,     CallKind::kOther};
// "compile"
[[nodiscard]] std::string_view to_string(CallKind kind);
// By its name in the library: "cuMemAlloc_v2".
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
  double gpu_seconds = 0;  // that kernels ran; 0 where the driver does not tell
  std::array<CallTimes, kAllCallKinds.size()> calls = {};

  [[nodiscard]] CallTimes& of(CallKind kind) { return calls[static_cast<std::size_t>(kind)]; }
  [[nodiscard]] const CallTimes& of(CallKind kind) const { return calls[static_cast<std::size_t>(kind)]; }
  // In all calls.
  [[nodiscard]] double driver_seconds() const;
  DeviceTimes& operator+=(const DeviceTimes& other);
  DeviceTimes& operator-=(const DeviceTimes& other);  // which is a part of it
  friend bool operator==(const DeviceTimes&, const DeviceTimes&) = default;
};

[[nodiscard]] DeviceTimes by_kind(const std::vector<NamedCallTimes>& calls);

}  // namespace gputopo
