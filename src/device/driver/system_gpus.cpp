#include <algorithm>
#include <filesystem>
#include <optional>

#include "device/driver/sysfs.h"
#include "file/environment.h"
#include "file/folder_entries.h"
#include "gputopo/inventory.h"

namespace gputopo {
namespace {

namespace fs = std::filesystem;

// PCI base class and subclass, from the first digits of "0x030200".
std::string vendor_of(const std::string& vendor, const std::string& pci_class) {
  const std::string kind = pci_class.substr(0, 6);
  const bool is_display = kind == "0x0300";
  const bool is_accelerator = kind == "0x0302" || kind == "0x0380" || kind == "0x1200";
  if (vendor == "0x10de" && (is_display || is_accelerator)) return "NVIDIA";
  if (vendor == "0x1002" && is_accelerator) return "AMD";
  return "";
}

}  // namespace

std::vector<SystemGpu> read_system_gpus() {
  std::vector<SystemGpu> gpus;
  for (const fs::path& device : folder_entries(fs::path(sysfs_root()) / "bus/pci/devices")) {
    const std::string vendor =
        vendor_of(read_line(device / "vendor").value_or(""), read_line(device / "class").value_or(""));
    if (vendor.empty()) continue;
    std::error_code ignored;
    const fs::path driver = fs::canonical(device / "driver", ignored);
    gpus.push_back({.pci_address = device.filename(), .vendor = vendor, .driver = driver.filename()});
  }
  std::ranges::sort(gpus, {}, &SystemGpu::pci_address);
  return gpus;
}

bool are_gpus_restricted() {
  for (const char* name : {"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"}) {
    if (environment_variable(name) != nullptr) return true;
  }
  const char* container = environment_variable("NVIDIA_VISIBLE_DEVICES");
  return container != nullptr && std::string_view(container) != "all";
}

}  // namespace gputopo
