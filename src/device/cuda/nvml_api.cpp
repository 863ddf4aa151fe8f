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
  NvmlDevice device = nullptr;
  if (!nvml.call<NvmlStatus(const char*, NvmlDevice*)>("nvmlDeviceGetHandleByPciBusId_v2", pci_address.c_str(),
                                                       &device)) {
    return readings;
  }
  readings.sm_clock_mhz = read_clock(nvml, "nvmlDeviceGetClockInfo", device, kSmClock);
  readings.sm_clock_max_mhz = read_clock(nvml, "nvmlDeviceGetMaxClockInfo", device, kSmClock);
  readings.memory_clock_mhz = read_clock(nvml, "nvmlDeviceGetClockInfo", device, kMemoryClock);
  readings.memory_clock_max_mhz = read_clock(nvml, "nvmlDeviceGetMaxClockInfo", device, kMemoryClock);
  unsigned long long reasons = 0;
  if (nvml.call<NvmlStatus(NvmlDevice, unsigned long long*)>("nvmlDeviceGetCurrentClocksThrottleReasons", device,
                                                             &reasons)) {
    readings.throttle_reasons = reasons;
  }
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
  return readings;
}

std::string busy_warning(const NvmlReadings& before) {
  return launch::busy_warning(before.processes.value_or(0), before.busy_percent.value_or(0));
}

std::string throttle_warning(const NvmlReadings& now) {
  struct Cause {
    std::uint64_t bits;  // nvmlClocksEventReason*
    const char* text;
  };
  static constexpr Cause kCauses[] = {{0x04, "its power limit"},
                                      {0x20 | 0x40, "its temperature"},
                                      {0x80, "the power supply (power brake)"},
                                      {0x08, "the hardware (heat or power)"}};
  for (const Cause& cause : kCauses) {
    if ((now.throttle_reasons.value_or(0) & cause.bits) == 0) continue;
    return fmt::format(
        "{} holds this GPU's clocks down: latencies in ns and bandwidths are lower than they could be; see nvidia-smi "
        "-q "
        "-d PERFORMANCE",
        cause.text);
  }
  return {};
}

}  // namespace gputopo::cuda
