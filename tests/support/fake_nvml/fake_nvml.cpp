// A management library for tests: answers for any device what GPUTOPO_FAKE_NVML says, "busy=80,processes=2,throttle=4".
#include <cstdlib>
#include <cstring>
#include <string>

#include "support/hostile_call.h"

namespace {

// The number after "key=", 0 without.
unsigned long long setting(const char* key) {
  const char* text = std::getenv("GPUTOPO_FAKE_NVML");
  const char* found = text == nullptr ? nullptr : std::strstr(text, key);
  return found == nullptr ? 0 : std::strtoull(found + std::strlen(key), nullptr, 0);
}

constexpr int kNotSupported = 3;

int device;

}  // namespace

extern "C" {

int nvmlInit_v2() {
  GPUTOPO_MAY_BE_HOSTILE();
  return 0;
}
int nvmlShutdown() {
  GPUTOPO_MAY_BE_HOSTILE();
  return 0;
}
int nvmlSystemGetDriverVersion(char* version, unsigned length) {
  GPUTOPO_MAY_BE_HOSTILE(gputopo::test::TextResult{version, length});
  std::strncpy(version, "999.1", length);
  return 0;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char*, void** handle) {
  GPUTOPO_MAY_BE_HOSTILE(handle);
  *handle = &device;
  return 0;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) {
  GPUTOPO_MAY_BE_HOSTILE(reasons);
  *reasons = setting("throttle=");
  return 0;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, void*) {
  GPUTOPO_MAY_BE_HOSTILE(count);
  constexpr int kInsufficientSize = 7;
  *count = static_cast<unsigned>(setting("processes="));
  return *count == 0 ? 0 : kInsufficientSize;
}
// Not what this GPU tells, unless it is made to.
int nvmlDeviceGetClockInfo(void*, int, unsigned* mhz) {
  GPUTOPO_MAY_BE_HOSTILE(mhz);
  return kNotSupported;
}
int nvmlDeviceGetMaxClockInfo(void*, int, unsigned* mhz) {
  GPUTOPO_MAY_BE_HOSTILE(mhz);
  return kNotSupported;
}
int nvmlDeviceGetMigMode(void*, unsigned* current, unsigned* pending) {
  GPUTOPO_MAY_BE_HOSTILE(current, pending);
  return kNotSupported;
}
int nvmlDeviceGetPersistenceMode(void*, int* mode) {
  GPUTOPO_MAY_BE_HOSTILE(mode);
  *mode = static_cast<int>(setting("persistence="));
  return 0;
}
int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* milliwatts) {
  GPUTOPO_MAY_BE_HOSTILE(milliwatts);
  *milliwatts = static_cast<unsigned>(setting("milliwatts="));
  return *milliwatts == 0 ? kNotSupported : 0;
}
int nvmlDeviceGetUtilizationRates(void*, unsigned* percents) {
  GPUTOPO_MAY_BE_HOSTILE(percents);
  percents[0] = static_cast<unsigned>(setting("busy="));
  percents[1] = 0;
  return 0;
}
}
