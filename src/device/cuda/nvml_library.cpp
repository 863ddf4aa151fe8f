#include "device/cuda/nvml_library.h"

#include <map>
#include <mutex>

#include "device/cuda/driver_api.h"

namespace gputopo::cuda {

void Nvml::start(const std::string& path) {
  if (library_ == nullptr) library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!ready_) ready_ = call<NvmlStatus()>("nvmlInit_v2");
}

const Nvml& open_nvml() {
  static std::mutex mutex;
  static auto& opened = *new std::map<std::string, Nvml*>;  // by path; used by threads that outlive statics
  const std::scoped_lock lock(mutex);
  const std::string path = library_path("GPUTOPO_LIBNVML", "libnvidia-ml.so.1");
  Nvml*& nvml = opened[path];
  if (nvml == nullptr) nvml = new Nvml;
  nvml->start(path);
  return *nvml;
}

NvmlDevice device_at(const Nvml& nvml, const std::string& pci_address) {
  NvmlDevice device = nullptr;
  const bool found = nvml.ready() && nvml.call<NvmlStatus(const char*, NvmlDevice*)>("nvmlDeviceGetHandleByPciBusId_v2",
                                                                                     pci_address.c_str(), &device);
  return found ? device : nullptr;
}

}  // namespace gputopo::cuda
