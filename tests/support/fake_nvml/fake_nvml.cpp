// A fake management library for tests. GPUTOPO_FAKE_NVML sets its answers for every device:
// "busy=80,processes=2,throttle=4". "ecc=", "corrected=", "remapped=", "pending=", "failed=", "default_limit=",
// "nvlink_errors=" (of each link), "replays=" and "mps=" (clients) count faults and clients. "old=1" is a GPU that
// retires pages instead of remapping rows. "nvlinks=4" adds four links to a switch, of 25 GB/s each. "mig=1" gives a
// GPU of 7 compute slices and 40 GiB with two instances: 4g.20gb and 1c.3g.20gb. Their UUIDs are all zeros except for
// the last digit, which is 4 and 3.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string>

#include "support/hostile_call.h"

namespace {

// The number after "key=", or 0 if the key is not set.
unsigned long long setting(const char* key) {
  const char* text = std::getenv("GPUTOPO_FAKE_NVML");
  const char* found = text == nullptr ? nullptr : std::strstr(text, key);
  return found == nullptr ? 0 : std::strtoull(found + std::strlen(key), nullptr, 0);
}

constexpr int kNotSupported = 3;

int device;

// A MIG instance.
struct Instance {
  const char* uuid;
  const char* name;
  unsigned sms;
  unsigned gpu_slices;
  unsigned compute_slices;
};
Instance instances[] = {
    {"MIG-00000000-0000-0000-0000-000000000004", "NVIDIA Test GPU MIG 4g.20gb", 56, 4, 4},
    {"MIG-00000000-0000-0000-0000-000000000003", "NVIDIA Test GPU MIG 1c.3g.20gb", 14, 3, 1},
};
constexpr unsigned kMaxInstances = 7;
constexpr unsigned long long kGpuBytes = 40ull << 30;
constexpr unsigned long long kInstanceBytes = kGpuBytes / 2 - (300ull << 20);  // the driver reserves some

// These structs have the layout of NVIDIA's headers.
struct Attributes {
  unsigned sm_count;
  unsigned shared_engines[5];
  unsigned gpu_slices;
  unsigned compute_slices;
  unsigned long long memory_mib;
};
struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};
struct Pci {
  char legacy_address[16];
  unsigned numbers[5];
  char address[32];
};

struct Field {
  unsigned id;
  unsigned scope;
  long long times[2];
  int type;
  int status;
  unsigned long long value;
};

// Returns null for the whole GPU.
const Instance* instance_at(void* handle) {
  for (const Instance& one : instances) {
    if (handle == &one) return &one;
  }
  return nullptr;
}

int copy_text(const char* text, char* to, unsigned length) {
  std::strncpy(to, text, length);
  return 0;
}

}  // namespace

extern "C" {

int nvmlInit_v2() {
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
// This GPU does not report its maximum clock, except as the hostile call.
int nvmlDeviceGetMaxClockInfo(void*, int, unsigned* mhz) {
  GPUTOPO_MAY_BE_HOSTILE(mhz);
  return kNotSupported;
}
int nvmlDeviceGetMigMode(void*, unsigned* current, unsigned* pending) {
  GPUTOPO_MAY_BE_HOSTILE(current, pending);
  *current = *pending = 1;
  return setting("mig=") == 0 ? kNotSupported : 0;
}
int nvmlDeviceGetMaxMigDeviceCount(void*, unsigned* count) {
  GPUTOPO_MAY_BE_HOSTILE(count);
  *count = kMaxInstances;
  return 0;
}
int nvmlDeviceGetMigDeviceHandleByIndex(void*, unsigned index, void** handle) {
  GPUTOPO_MAY_BE_HOSTILE(handle);
  constexpr int kNotFound = 6;
  if (index >= std::size(instances)) return kNotFound;
  *handle = &instances[index];
  return 0;
}
int nvmlDeviceGetUUID(void* handle, char* text, unsigned length) {
  GPUTOPO_MAY_BE_HOSTILE(gputopo::test::TextResult{text, length});
  const Instance* instance = instance_at(handle);
  return copy_text(instance == nullptr ? "GPU-00000000-0000-0000-0000-000000000000" : instance->uuid, text, length);
}
int nvmlDeviceGetName(void* handle, char* text, unsigned length) {
  GPUTOPO_MAY_BE_HOSTILE(gputopo::test::TextResult{text, length});
  const Instance* instance = instance_at(handle);
  return copy_text(instance == nullptr ? "NVIDIA Test GPU" : instance->name, text, length);
}
int nvmlDeviceGetAttributes_v2(void* handle, Attributes* attributes) {
  GPUTOPO_MAY_BE_HOSTILE(attributes);
  const Instance* instance = instance_at(handle);
  if (instance == nullptr) return kNotSupported;
  *attributes = {};
  attributes->sm_count = instance->sms;
  attributes->gpu_slices = instance->gpu_slices;
  attributes->compute_slices = instance->compute_slices;
  attributes->memory_mib = kInstanceBytes >> 20;
  return 0;
}
int nvmlDeviceGetMemoryInfo(void* handle, Memory* memory) {
  GPUTOPO_MAY_BE_HOSTILE(memory);
  *memory = {instance_at(handle) == nullptr ? kGpuBytes : kInstanceBytes, 0, 0};
  return 0;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  GPUTOPO_MAY_BE_HOSTILE(count);
  *count = 1;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned, void** handle) {
  GPUTOPO_MAY_BE_HOSTILE(handle);
  *handle = &device;
  return 0;
}
int nvmlDeviceGetPciInfo_v3(void*, Pci* pci) {
  GPUTOPO_MAY_BE_HOSTILE(pci);
  *pci = {};
  return copy_text("00000000:0F:00.0", pci->address, sizeof(pci->address));
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
int nvmlDeviceGetPowerManagementDefaultLimit(void*, unsigned* milliwatts) {
  GPUTOPO_MAY_BE_HOSTILE(milliwatts);
  *milliwatts = static_cast<unsigned>(setting("default_limit="));
  return *milliwatts == 0 ? kNotSupported : 0;
}
int nvmlDeviceGetTotalEccErrors(void*, int type, int, unsigned long long* count) {
  GPUTOPO_MAY_BE_HOSTILE(count);
  constexpr int kCorrected = 0;
  *count = setting(type == kCorrected ? "corrected=" : "ecc=");
  return 0;
}
int nvmlDeviceGetRemappedRows(void*, unsigned* corrected, unsigned* uncorrected, unsigned* pending, unsigned* failed) {
  GPUTOPO_MAY_BE_HOSTILE(corrected, uncorrected, pending, failed);
  *corrected = static_cast<unsigned>(setting("remapped="));
  *uncorrected = 0;
  *pending = static_cast<unsigned>(setting("pending="));
  *failed = static_cast<unsigned>(setting("failed="));
  return setting("old=") == 0 ? 0 : kNotSupported;
}
int nvmlDeviceGetRetiredPagesPendingStatus(void*, int* is_pending) {
  GPUTOPO_MAY_BE_HOSTILE(is_pending);
  *is_pending = static_cast<int>(setting("pending="));
  return setting("old=") == 0 ? kNotSupported : 0;
}
int nvmlDeviceGetPcieReplayCounter(void*, unsigned* replays) {
  GPUTOPO_MAY_BE_HOSTILE(replays);
  *replays = static_cast<unsigned>(setting("replays="));
  return 0;
}
int nvmlDeviceGetNvLinkErrorCounter(void*, unsigned, int counter, unsigned long long* count) {
  GPUTOPO_MAY_BE_HOSTILE(count);
  constexpr int kReplays = 0;
  *count = counter == kReplays ? setting("nvlink_errors=") : 0;
  return 0;
}
int nvmlDeviceGetMPSComputeRunningProcesses_v3(void*, unsigned* count, void*) {
  GPUTOPO_MAY_BE_HOSTILE(count);
  *count = static_cast<unsigned>(setting("mps="));
  return 0;
}
// Each reading returns 4 J more.
int nvmlDeviceGetTotalEnergyConsumption(void*, unsigned long long* millijoules) {
  GPUTOPO_MAY_BE_HOSTILE(millijoules);
  static std::atomic<unsigned long long> taken = 1'000'000;
  *millijoules = taken += 4000;
  return 0;
}
int nvmlDeviceGetUtilizationRates(void*, unsigned* percents) {
  GPUTOPO_MAY_BE_HOSTILE(percents);
  percents[0] = static_cast<unsigned>(setting("busy="));
  percents[1] = 0;
  return 0;
}
int nvmlDeviceGetNvLinkState(void*, unsigned link, unsigned* is_up) {
  GPUTOPO_MAY_BE_HOSTILE(is_up);
  *is_up = 1;
  return link < setting("nvlinks=") ? 0 : kNotSupported;
}
int nvmlDeviceGetNvLinkRemoteDeviceType(void*, unsigned, unsigned* type) {
  GPUTOPO_MAY_BE_HOSTILE(type);
  constexpr unsigned kSwitch = 2;
  *type = kSwitch;
  return 0;
}
int nvmlDeviceGetNvLinkRemotePciInfo_v2(void*, unsigned, Pci* pci) {
  GPUTOPO_MAY_BE_HOSTILE(pci);
  *pci = {};
  std::strcpy(pci->address, "00000000:AA:00.0");
  return 0;
}
int nvmlDeviceGetFieldValues(void*, int, Field* field) {
  GPUTOPO_MAY_BE_HOSTILE(field);
  constexpr unsigned kLinkSpeed = 90;
  if (field->id != kLinkSpeed) return kNotSupported;
  field->status = 0;
  field->value = 25'000;  // MB/s
  return 0;
}
}
