#include "device/cuda/nvml_health.h"

#include <fmt/format.h>

#include "device/cuda/nvml_library.h"
#include "file/limits.h"

namespace gputopo::cuda {
namespace {

struct Cause {
  std::uint64_t bits;  // nvmlClocksEventReason*
  const char* text;
  const char* slowdown;  // null: the power limit, which is not a fault
};
constexpr Cause kCauses[] = {{0x04, "the power limit", nullptr},
                             {0x20 | 0x40, "the temperature", "thermal"},
                             {0x80, "the power supply (power brake)", "power brake"},
                             {0x08, "a hardware slowdown (heat or power)", "hardware"}};

std::string slowdown_of(std::uint64_t reasons) {
  std::string text;
  for (const Cause& cause : kCauses) {
    if (cause.slowdown == nullptr || (reasons & cause.bits) == 0) continue;
    text += text.empty() ? cause.slowdown : fmt::format(", {}", cause.slowdown);
  }
  return text.empty() ? "none" : text;
}

// Larger counts are those of a broken library.
std::optional<std::uint64_t> if_possible(std::uint64_t count) {
  return count <= limits::kMaxDeviceUnits ? std::optional(count) : std::nullopt;
}

std::optional<std::uint64_t> ecc_errors(const Nvml& nvml, NvmlDevice device, int type) {
  constexpr int kSinceDriverStart = 0;  // NVML_VOLATILE_ECC
  unsigned long long count = 0;
  const bool told = nvml.call<NvmlStatus(NvmlDevice, int, int, unsigned long long*)>(
      "nvmlDeviceGetTotalEccErrors", device, type, kSinceDriverStart, &count);
  return told ? if_possible(count) : std::nullopt;
}

void read_repairs(const Nvml& nvml, NvmlDevice device, DeviceHealth& health) {
  unsigned corrected = 0;
  unsigned uncorrected = 0;
  unsigned pending = 0;
  unsigned failed = 0;
  if (nvml.call<NvmlStatus(NvmlDevice, unsigned*, unsigned*, unsigned*, unsigned*)>(
          "nvmlDeviceGetRemappedRows", device, &corrected, &uncorrected, &pending, &failed)) {
    health.remapped_rows = if_possible(std::uint64_t{corrected} + uncorrected);
    health.row_remap_pending = pending != 0;
    health.row_remap_failed = failed != 0;
    return;
  }
  // GPUs before Ampere retire whole pages.
  int is_pending = 0;
  if (nvml.call<NvmlStatus(NvmlDevice, int*)>("nvmlDeviceGetRetiredPagesPendingStatus", device, &is_pending)) {
    health.row_remap_pending = is_pending != 0;
  }
}

// Nothing if no link reports its errors.
std::optional<std::uint64_t> nvlink_errors(const Nvml& nvml, NvmlDevice device) {
  constexpr unsigned kMostLinks = 64;
  // Replays, recoveries and CRC errors of flits. The next two also count on healthy links (two H200, driver 580), and
  // nvidia-smi does not show them.
  constexpr int kCounters = 3;
  std::optional<std::uint64_t> sum;
  for (unsigned link = 0; link < kMostLinks; ++link) {
    unsigned is_up = 0;
    if (!nvml.call<NvmlStatus(NvmlDevice, unsigned, unsigned*)>("nvmlDeviceGetNvLinkState", device, link, &is_up))
      break;
    for (int counter = 0; counter < kCounters; ++counter) {
      unsigned long long count = 0;
      const bool told = nvml.call<NvmlStatus(NvmlDevice, unsigned, int, unsigned long long*)>(
          "nvmlDeviceGetNvLinkErrorCounter", device, link, counter, &count);
      if (told && if_possible(count)) sum = sum.value_or(0) + count;
    }
  }
  return sum;
}

}  // namespace

std::optional<std::uint64_t> read_throttle_reasons(const std::string& pci_address) {
  const Nvml& nvml = open_nvml();
  unsigned long long reasons = 0;
  NvmlDevice device = device_at(nvml, pci_address);
  if (device == nullptr) return std::nullopt;
  const bool told = nvml.call<NvmlStatus(NvmlDevice, unsigned long long*)>("nvmlDeviceGetCurrentClocksThrottleReasons",
                                                                           device, &reasons);
  return told ? std::optional<std::uint64_t>(reasons) : std::nullopt;
}

std::string throttle_warning(std::uint64_t reasons) {
  for (const Cause& cause : kCauses) {
    if ((reasons & cause.bits) == 0) continue;
    return fmt::format(
        "{} lowers this GPU's clocks: latencies in ns are longer, and bandwidths lower, than at the full clock; see "
        "nvidia-smi -q -d PERFORMANCE",
        cause.text);
  }
  return {};
}

DeviceHealth read_nvml_health(const std::string& pci_address, std::optional<std::uint64_t> throttle_reasons) {
  constexpr int kCorrected = 0;  // NVML_MEMORY_ERROR_TYPE_CORRECTED, _UNCORRECTED
  constexpr int kUncorrected = 1;
  DeviceHealth health;
  if (throttle_reasons) health.slowdown = slowdown_of(*throttle_reasons);
  const Nvml& nvml = open_nvml();
  NvmlDevice device = device_at(nvml, pci_address);
  if (device == nullptr) return health;
  health.ecc_corrected = ecc_errors(nvml, device, kCorrected);
  health.ecc_uncorrected = ecc_errors(nvml, device, kUncorrected);
  read_repairs(nvml, device, health);
  unsigned milliwatts = 0;
  if (nvml.call<NvmlStatus(NvmlDevice, unsigned*)>("nvmlDeviceGetPowerManagementDefaultLimit", device, &milliwatts) &&
      milliwatts > 0 && milliwatts <= limits::kMaxPowerMilliwatts) {
    health.power_limit_default_watts = milliwatts / 1e3;
  }
  health.nvlink_errors = nvlink_errors(nvml, device);
  unsigned replays = 0;
  if (nvml.call<NvmlStatus(NvmlDevice, unsigned*)>("nvmlDeviceGetPcieReplayCounter", device, &replays)) {
    health.pcie_replays = if_possible(replays);
  }
  return health;
}

}  // namespace gputopo::cuda
