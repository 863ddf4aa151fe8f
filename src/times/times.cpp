#include "gputopo/times.h"

#include <algorithm>
#include <utility>

namespace gputopo {
namespace {

// By what follows "cu" or "hip", the prefixes of both vendors' names. The first match counts.
constexpr std::pair<std::string_view, CallKind> kBeginnings[] = {
    {"Module", CallKind::kCompile},
    {"Link", CallKind::kCompile},
    {"rtc", CallKind::kCompile},
    {"MemAlloc", CallKind::kAllocate},
    {"MemFree", CallKind::kAllocate},
    {"MemHost", CallKind::kAllocate},
    {"Malloc", CallKind::kAllocate},
    {"Free", CallKind::kAllocate},
    {"HostMalloc", CallKind::kAllocate},
    {"HostFree", CallKind::kAllocate},
    {"Memcpy", CallKind::kCopy},
    {"Memset", CallKind::kCopy},
    {"Launch", CallKind::kLaunch},
    {"GraphLaunch", CallKind::kLaunch},
    {"Func", CallKind::kLaunch},
    {"CtxSynchronize", CallKind::kWait},
    {"DeviceSynchronize", CallKind::kWait},
    {"StreamSynchronize", CallKind::kWait},
    {"EventSynchronize", CallKind::kWait},
};
// Names that match a beginning but serve another purpose.
constexpr std::pair<std::string_view, CallKind> kNames[] = {
    {"hipModuleLaunchKernel", CallKind::kLaunch},
    {"hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", CallKind::kOther},
};

}  // namespace

std::string_view to_string(CallKind kind) {
  constexpr std::string_view kTexts[] = {"compile", "allocate", "copy", "launch", "wait", "other"};
  return kTexts[static_cast<std::size_t>(kind)];
}

CallKind kind_of_call(std::string_view name) {
  for (const auto& [other, kind] : kNames) {
    if (name == other) return kind;
  }
  for (const std::string_view vendor : {"cu", "hip"}) {
    if (!name.starts_with(vendor)) continue;
    for (const auto& [beginning, kind] : kBeginnings) {
      if (name.substr(vendor.size()).starts_with(beginning)) return kind;
    }
  }
  return CallKind::kOther;
}

double DeviceTimes::driver_seconds() const {
  double seconds = 0;
  for (const CallTimes& times : calls) seconds += times.seconds;
  return seconds;
}

DeviceTimes& DeviceTimes::operator+=(const DeviceTimes& other) {
  gpu_seconds += other.gpu_seconds;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    calls[i].calls += other.calls[i].calls;
    calls[i].seconds += other.calls[i].seconds;
  }
  return *this;
}

DeviceTimes& DeviceTimes::operator-=(const DeviceTimes& other) {
  gpu_seconds -= other.gpu_seconds;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    calls[i].calls -= other.calls[i].calls;
    calls[i].seconds = std::max(0.0, calls[i].seconds - other.calls[i].seconds);  // rounding errors
  }
  return *this;
}

DeviceTimes by_kind(const std::vector<NamedCallTimes>& calls) {
  DeviceTimes sum;
  for (const NamedCallTimes& call : calls) {
    CallTimes& times = sum.of(kind_of_call(call.name));
    times.calls += call.times.calls;
    times.seconds += call.times.seconds;
  }
  return sum;
}

}  // namespace gputopo
