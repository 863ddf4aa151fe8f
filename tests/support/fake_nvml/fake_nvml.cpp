// A management library for tests: answers for any device what GPUTOPO_FAKE_NVML says, "busy=80,processes=2,throttle=4".
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

// The number after "key=", 0 without.
unsigned long long setting(const char* key) {
  const char* text = std::getenv("GPUTOPO_FAKE_NVML");
  const char* found = text == nullptr ? nullptr : std::strstr(text, key);
  return found == nullptr ? 0 : std::strtoull(found + std::strlen(key), nullptr, 0);
}

int device;

}  // namespace

extern "C" {

int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }
int nvmlSystemGetDriverVersion(char* version, unsigned length) {
  std::strncpy(version, "999.1", length);
  return 0;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char*, void** handle) {
  *handle = &device;
  return 0;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) {
  *reasons = setting("throttle=");
  return 0;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, void*) {
  constexpr int kInsufficientSize = 7;
  *count = static_cast<unsigned>(setting("processes="));
  return *count == 0 ? 0 : kInsufficientSize;
}
int nvmlDeviceGetUtilizationRates(void*, unsigned* percents) {
  percents[0] = static_cast<unsigned>(setting("busy="));
  percents[1] = 0;
  return 0;
}
}
