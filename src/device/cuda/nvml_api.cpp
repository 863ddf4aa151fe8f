#include "device/cuda/nvml_api.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <memory>
#include <type_traits>

#include "device/cuda/driver_api.h"
#include "device/driver_call.h"
#include "device/launch/busy_warning.h"
#include "file/limits.h"

namespace gputopo::cuda {
namespace {

using NvmlStatus = int;  // nvmlReturn_t; 0 is success
using NvmlDevice = struct NvmlDeviceOpaque*;
struct NvmlUtilization {  // nvmlUtilization_t
  unsigned gpu_percent;
  unsigned memory_percent;
};
constexpr int kSmClock = 1;      // NVML_CLOCK_SM
constexpr int kMemoryClock = 2;  // NVML_CLOCK_MEM

class Nvml {
 public:
  Nvml() : library_(dlopen(library_path("GPUTOPO_LIBNVML", "libnvidia-ml.so.1").c_str(), RTLD_NOW | RTLD_LOCAL)) {
    ready_ = call<NvmlStatus()>("nvmlInit_v2");
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  ~Nvml() {
    if (ready_) call<NvmlStatus()>("nvmlShutdown");
    if (library_ != nullptr) dlclose(library_);
  }
  [[nodiscard]] bool ready() const { return ready_; }

  // True if the library has the function and it succeeded.
  template <typename Signature, typename... Args>
  bool call(const char* name, Args... args) const {
    if (library_ == nullptr) return false;
    const auto function = reinterpret_cast<std::add_pointer_t<Signature>>(dlsym(library_, name));
    if (function == nullptr) return false;
    const InDriverCall running(name);
    return function(args...) == 0;
  }

 private:
  void* library_;
  bool ready_ = false;
};

// Null where the library does not know it.
NvmlDevice device_at(const Nvml& nvml, const std::string& pci_address) {
  NvmlDevice device = nullptr;
  const bool found = nvml.ready() && nvml.call<NvmlStatus(const char*, NvmlDevice*)>("nvmlDeviceGetHandleByPciBusId_v2",
                                                                                     pci_address.c_str(), &device);
  return found ? device : nullptr;
}

std::optional<unsigned> read_clock(const Nvml& nvml, const char* function, NvmlDevice device, int clock) {
  unsigned mhz = 0;
  if (!nvml.call<NvmlStatus(NvmlDevice, int, unsigned*)>(function, device, clock, &mhz)) return std::nullopt;
  if (mhz == 0 || mhz > limits::kMaxClockMhz) return std::nullopt;
  return mhz;
}

}  // namespace

NvmlReadings read_nvml(const std::string& pci_address) {
  NvmlReadings readings;
  const Nvml nvml;
  if (!nvml.ready()) return readings;
  char version[96] = {};
  if (nvml.call<NvmlStatus(char*, unsigned)>("nvmlSystemGetDriverVersion", version, unsigned{sizeof(version)})) {
    readings.driver_version = text_in(version);
  }
  NvmlDevice device = device_at(nvml, pci_address);
  if (device == nullptr) return readings;
  readings.sm_clock_mhz = read_clock(nvml, "nvmlDeviceGetClockInfo", device, kSmClock);
  readings.sm_clock_max_mhz = read_clock(nvml, "nvmlDeviceGetMaxClockInfo", device, kSmClock);
  readings.memory_clock_mhz = read_clock(nvml, "nvmlDeviceGetClockInfo", device, kMemoryClock);
  readings.memory_clock_max_mhz = read_clock(nvml, "nvmlDeviceGetMaxClockInfo", device, kMemoryClock);
  // Without room for them the call fails where there are any, but counts them.
  unsigned processes = 0;
  const bool none = nvml.call<NvmlStatus(NvmlDevice, unsigned*, void*)>("nvmlDeviceGetComputeRunningProcesses_v3",
                                                                        device, &processes, nullptr);
  if (none || processes > 0) readings.processes = processes;
  NvmlUtilization utilization{};
  if (nvml.call<NvmlStatus(NvmlDevice, NvmlUtilization*)>("nvmlDeviceGetUtilizationRates", device, &utilization)) {
    readings.busy_percent = utilization.gpu_percent;
  }
  unsigned current = 0;
  unsigned pending = 0;
  if (nvml.call<NvmlStatus(NvmlDevice, unsigned*, unsigned*)>("nvmlDeviceGetMigMode", device, &current, &pending)) {
    readings.mig_enabled = current != 0;
  }
  int persistence = 0;
  if (nvml.call<NvmlStatus(NvmlDevice, int*)>("nvmlDeviceGetPersistenceMode", device, &persistence)) {
    readings.persistence_mode = persistence != 0;
  }
  unsigned milliwatts = 0;
  if (nvml.call<NvmlStatus(NvmlDevice, unsigned*)>("nvmlDeviceGetEnforcedPowerLimit", device, &milliwatts) &&
      milliwatts > 0 && milliwatts <= limits::kMaxPowerMilliwatts) {
    readings.power_limit_watts = milliwatts / 1e3;
  }
  return readings;
}

std::uint64_t read_throttle_reasons(const std::string& pci_address) {
  const Nvml nvml;
  unsigned long long reasons = 0;
  NvmlDevice device = device_at(nvml, pci_address);
  if (device == nullptr) return 0;
  const bool told = nvml.call<NvmlStatus(NvmlDevice, unsigned long long*)>("nvmlDeviceGetCurrentClocksThrottleReasons",
                                                                           device, &reasons);
  return told ? reasons : 0;
}

std::string busy_warning(const NvmlReadings& before) {
  return launch::busy_warning(before.processes.value_or(0), before.busy_percent.value_or(0));
}

std::string throttle_warning(std::uint64_t reasons) {
  struct Cause {
    std::uint64_t bits;  // nvmlClocksEventReason*
    const char* text;
  };
  static constexpr Cause kCauses[] = {{0x04, "its power limit"},
                                      {0x20 | 0x40, "its temperature"},
                                      {0x80, "the power supply (power brake)"},
                                      {0x08, "the hardware (heat or power)"}};
  for (const Cause& cause : kCauses) {
    if ((reasons & cause.bits) == 0) continue;
    return fmt::format(
        "{} holds this GPU's clocks down: latencies in ns and bandwidths are lower than they could be; see nvidia-smi "
        "-q "
        "-d PERFORMANCE",
        cause.text);
  }
  return {};
}

}  // namespace gputopo::cuda
