#include "device/cuda/nvml_api.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <string_view>

#include "device/cuda/driver_api.h"
#include "device/cuda/nvml_library.h"
#include "device/driver/beside.h"
#include "device/driver/driver_call.h"
#include "device/launch/busy_warning.h"
#include "file/limits.h"

namespace gputopo::cuda {
namespace {

struct NvmlUtilization {  // nvmlUtilization_t
  unsigned gpu_percent;
  unsigned memory_percent;
};
constexpr int kSmClock = 1;      // NVML_CLOCK_SM
constexpr int kMemoryClock = 2;  // NVML_CLOCK_MEM

std::optional<unsigned> read_clock(const Nvml& nvml, const char* function, NvmlDevice device, int clock) {
  unsigned mhz = 0;
  if (!nvml.call<NvmlStatus(NvmlDevice, int, unsigned*)>(function, device, clock, &mhz)) return std::nullopt;
  if (mhz == 0 || mhz > limits::kMaxClockMhz) return std::nullopt;
  return mhz;
}

struct NvmlMemory {  // nvmlMemory_t
  unsigned long long total_bytes;
  unsigned long long free_bytes;
  unsigned long long used_bytes;
};
struct NvmlAttributes {  // nvmlDeviceAttributes_t
  unsigned sm_count;
  unsigned shared_copy_engines;
  unsigned shared_decoders;
  unsigned shared_encoders;
  unsigned shared_jpeg_decoders;
  unsigned shared_flow_engines;
  unsigned gpu_instance_slices;
  unsigned compute_instance_slices;
  unsigned long long memory_mib;
};
struct NvmlPci {  // nvmlPciInfo_t
  char legacy_address[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned device_id;
  unsigned subsystem_id;
  char address[32];
};
struct NvmlField {  // nvmlFieldValue_t
  unsigned field;
  unsigned scope;
  long long timestamp;
  long long latency_us;
  int value_type;
  NvmlStatus status;
  unsigned long long value;
};
constexpr unsigned long long kMostLinkMb = 10'000'000;  // MB/s: a hundred times the fastest link
// Upper bounds, which keep a broken library from causing a loop of millions. No GPU is divided into so many instances.
constexpr unsigned kMostInstances = 64;
constexpr unsigned kMostGpus = 1024;

std::optional<std::uint64_t> memory_of(const Nvml& nvml, NvmlDevice device) {
  NvmlMemory memory{};
  if (!nvml.call<NvmlStatus(NvmlDevice, NvmlMemory*)>("nvmlDeviceGetMemoryInfo", device, &memory)) return std::nullopt;
  if (memory.total_bytes == 0 || memory.total_bytes > limits::kMaxDeviceBytes) return std::nullopt;
  return memory.total_bytes;
}

// NVML writes the domain of "00000000:0F:00.0" with eight digits, others write four.
std::string pci_address_in(std::string text) {
  constexpr std::size_t kDigitsMore = 4;
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text.find(':') == 2 * kDigitsMore && text.starts_with("0000") ? text.substr(kDigitsMore) : text;
}

std::optional<unsigned> if_some(unsigned count) {
  return count > 0 && count <= limits::kMaxSlices ? std::optional(count) : std::nullopt;
}

MigInstance read_instance(const Nvml& nvml, NvmlDevice device) {
  MigInstance instance;
  char text[96] = {};
  if (nvml.call<NvmlStatus(NvmlDevice, char*, unsigned)>("nvmlDeviceGetUUID", device, text, unsigned{sizeof(text)})) {
    instance.uuid = text_in(text);
  }
  char name[96] = {};
  if (nvml.call<NvmlStatus(NvmlDevice, char*, unsigned)>("nvmlDeviceGetName", device, name, unsigned{sizeof(name)})) {
    instance.name = text_in(name);
    instance.profile = mig_profile_in(instance.name);
  }
  NvmlAttributes attributes{};
  if (nvml.call<NvmlStatus(NvmlDevice, NvmlAttributes*)>("nvmlDeviceGetAttributes_v2", device, &attributes)) {
    instance.sms = if_some(attributes.sm_count);
    instance.compute_slices = if_some(attributes.compute_instance_slices);
  }
  instance.memory_bytes = memory_of(nvml, device);
  return instance;
}

MigReadings read_mig(const Nvml& nvml, NvmlDevice device) {
  MigReadings readings;
  unsigned most = 0;
  if (!nvml.call<NvmlStatus(NvmlDevice, unsigned*)>("nvmlDeviceGetMaxMigDeviceCount", device, &most)) return readings;
  if (most > kMostInstances) return readings;
  readings.compute_slices = if_some(most);
  readings.memory_bytes = memory_of(nvml, device);
  for (unsigned i = 0; i < most; ++i) {
    NvmlDevice instance = nullptr;
    const bool found = nvml.call<NvmlStatus(NvmlDevice, unsigned, NvmlDevice*)>("nvmlDeviceGetMigDeviceHandleByIndex",
                                                                                device, i, &instance);
    if (found && instance != nullptr) readings.instances.push_back(read_instance(nvml, instance));
  }
  return readings;
}

bool mig_is_enabled(const Nvml& nvml, NvmlDevice device, std::optional<bool>& enabled) {
  unsigned current = 0;
  unsigned pending = 0;
  if (nvml.call<NvmlStatus(NvmlDevice, unsigned*, unsigned*)>("nvmlDeviceGetMigMode", device, &current, &pending)) {
    enabled = current != 0;
  }
  return enabled.value_or(false);
}

}  // namespace

GpuInstance MigReadings::instance_of(const std::string& uuid) const {
  const auto found = std::ranges::find(instances, uuid, &MigInstance::uuid);
  const bool is_only = uuid.empty() && instances.size() == 1;
  if (found == instances.end() && !is_only) return {};
  const MigInstance& own = is_only ? instances.front() : *found;
  GpuInstance instance;
  if (!own.profile.empty()) instance.profile = own.profile;
  if (own.compute_slices && own.compute_slices <= compute_slices) {
    instance.compute_slices = own.compute_slices;
    instance.compute_slices_of_gpu = compute_slices;
  }
  // L2 and memory are divided in eighths, on every GPU with MIG so far. The driver keeps a little of each part.
  constexpr std::uint32_t kEighths = 8;
  if (own.memory_bytes && memory_bytes && *own.memory_bytes <= *memory_bytes) {
    const double part = static_cast<double>(*own.memory_bytes) / static_cast<double>(*memory_bytes);
    instance.memory_slices = std::max(1u, static_cast<std::uint32_t>(std::lround(kEighths * part)));
    instance.memory_slices_of_gpu = kEighths;
  }
  return instance;
}

namespace {

unsigned count_gpus(const Nvml& nvml) {
  unsigned gpus = 0;
  if (!nvml.ready() || !nvml.call<NvmlStatus(unsigned*)>("nvmlDeviceGetCount_v2", &gpus)) return 0;
  return std::min(gpus, kMostGpus);
}

}  // namespace

std::size_t count_nvml_gpus() { return count_gpus(open_nvml()); }

std::vector<ListedInstance> list_mig_instances() {
  std::vector<ListedInstance> listed;
  const Nvml& nvml = open_nvml();
  const unsigned gpus = count_gpus(nvml);
  for (unsigned i = 0; i < gpus; ++i) {
    NvmlDevice device = nullptr;
    std::optional<bool> enabled;
    if (!nvml.call<NvmlStatus(unsigned, NvmlDevice*)>("nvmlDeviceGetHandleByIndex_v2", i, &device)) continue;
    if (device == nullptr || !mig_is_enabled(nvml, device, enabled)) continue;
    NvmlPci pci{};
    std::string address;
    if (nvml.call<NvmlStatus(NvmlDevice, NvmlPci*)>("nvmlDeviceGetPciInfo_v3", device, &pci)) {
      address = pci_address_in(text_in(pci.address));
    }
    for (MigInstance& instance : read_mig(nvml, device).instances) listed.push_back({address, std::move(instance)});
  }
  return listed;
}

NvmlReadings read_nvml(const std::string& pci_address) {
  NvmlReadings readings;
  const Nvml& nvml = open_nvml();
  if (!nvml.ready()) return readings;
  char version[96] = {};
  if (nvml.call<NvmlStatus(char*, unsigned)>("nvmlSystemGetDriverVersion", version, unsigned{sizeof(version)})) {
    readings.driver_version = text_in(version);
  }
  NvmlDevice device = device_at(nvml, pci_address);
  if (device == nullptr) return readings;
  readings.sm_clock_max_mhz = read_clock(nvml, "nvmlDeviceGetMaxClockInfo", device, kSmClock);
  readings.memory_clock_max_mhz = read_clock(nvml, "nvmlDeviceGetMaxClockInfo", device, kMemoryClock);
  if (mig_is_enabled(nvml, device, readings.mig_enabled)) readings.mig = read_mig(nvml, device);
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

NvmlReader::NvmlReader(const std::string& pci_address)
    : call_(std::make_shared<LastCall>("nvmlInit_v2")), readings_(begin_beside([pci_address, call = call_] {
        publish_driver_calls(call.get());
        NvmlReadings readings = read_nvml(pci_address);
        publish_driver_calls(nullptr);
        return readings;
      })) {}

NvmlReader::~NvmlReader() {
  if (readings_.valid()) wait();
}

void NvmlReader::wait() const {
  wait_on_behalf_of(*call_, [this](auto most) { return readings_.wait_for(most) != std::future_status::timeout; });
}

NvmlReadings NvmlReader::get() {
  wait();
  return readings_.get();
}

NvLinks read_nvlinks(const std::string& pci_address) {
  constexpr unsigned kMostLinks = 64;
  constexpr unsigned kGpu = 0;  // NVML_NVLINK_DEVICE_TYPE_GPU, _SWITCH
  constexpr unsigned kSwitch = 2;
  constexpr unsigned kLinkSpeedField = 90;  // NVML_FI_DEV_NVLINK_SPEED_MBPS_COMMON
  constexpr double kBytesPerMb = 1e6;
  NvLinks readings;
  const Nvml& nvml = open_nvml();
  NvmlDevice device = device_at(nvml, pci_address);
  if (device == nullptr) return readings;
  readings.is_told = true;
  for (unsigned link = 0; link < kMostLinks; ++link) {
    unsigned is_up = 0;
    if (!nvml.call<NvmlStatus(NvmlDevice, unsigned, unsigned*)>("nvmlDeviceGetNvLinkState", device, link, &is_up))
      break;
    ++readings.link_count;
    if (is_up == 0) continue;
    NvLink& found = readings.links.emplace_back();
    unsigned type = kGpu;
    nvml.call<NvmlStatus(NvmlDevice, unsigned, unsigned*)>("nvmlDeviceGetNvLinkRemoteDeviceType", device, link, &type);
    found.leads_to_switch = type == kSwitch;
    NvmlPci pci{};
    if (nvml.call<NvmlStatus(NvmlDevice, unsigned, NvmlPci*)>("nvmlDeviceGetNvLinkRemotePciInfo_v2", device, link,
                                                              &pci)) {
      found.remote_pci_address = pci_address_in(text_in(pci.address));
    }
  }
  NvmlField speed{.field = kLinkSpeedField};
  if (nvml.call<NvmlStatus(NvmlDevice, int, NvmlField*)>("nvmlDeviceGetFieldValues", device, 1, &speed) &&
      speed.status == 0 && speed.value > 0 && speed.value <= kMostLinkMb) {
    readings.bytes_per_second = static_cast<double>(speed.value) * kBytesPerMb;
  }
  return readings;
}

std::optional<double> read_energy_joules(const std::string& pci_address) {
  const Nvml& nvml = open_nvml();
  unsigned long long millijoules = 0;
  NvmlDevice device = device_at(nvml, pci_address);
  if (device == nullptr || !nvml.call<NvmlStatus(NvmlDevice, unsigned long long*)>(
                               "nvmlDeviceGetTotalEnergyConsumption", device, &millijoules)) {
    return std::nullopt;
  }
  constexpr unsigned long long kMost = 1'000'000'000'000'000;  // 1 kW for thirty years
  if (millijoules > kMost) return std::nullopt;
  return static_cast<double>(millijoules) / 1e3;
}

std::string busy_warning(const std::string& pci_address) {
  const Nvml& nvml = open_nvml();
  NvmlDevice device = device_at(nvml, pci_address);
  if (device == nullptr) return {};
  // Counts the processes that have a context on the GPU; a container may not see them. Without a buffer the call fails
  // if there are any, but still counts them.
  unsigned processes = 0;
  nvml.call<NvmlStatus(NvmlDevice, unsigned*, void*)>("nvmlDeviceGetComputeRunningProcesses_v3", device, &processes,
                                                      nullptr);
  // Over the last second or so.
  NvmlUtilization utilization{};
  const bool told =
      nvml.call<NvmlStatus(NvmlDevice, NvmlUtilization*)>("nvmlDeviceGetUtilizationRates", device, &utilization);
  return launch::busy_warning(processes, told ? utilization.gpu_percent : 0);
}

}  // namespace gputopo::cuda
