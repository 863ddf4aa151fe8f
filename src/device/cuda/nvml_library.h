// NVIDIA's management library, opened at run time.
#pragma once

#include <dlfcn.h>

#include <string>
#include <type_traits>

#include "device/driver/driver_call.h"

namespace gputopo::cuda {

using NvmlStatus = int;  // nvmlReturn_t; 0 is success
using NvmlDevice = struct NvmlDeviceOpaque*;

class Nvml {
 public:
  Nvml() = default;
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  ~Nvml() = delete;

  // Does nothing if already started.
  void start(const std::string& path);
  [[nodiscard]] bool ready() const { return ready_; }

  // True if the library has the function and the call succeeded.
  template <typename Signature, typename... Args>
  bool call(const char* name, Args... args) const {
    if (library_ == nullptr) return false;
    const auto function = reinterpret_cast<std::add_pointer_t<Signature>>(dlsym(library_, name));
    if (function == nullptr) return false;
    const InDriverCall running(name);
    return function(args...) == 0;
  }

 private:
  void* library_ = nullptr;
  bool ready_ = false;
};

// Opened once, and left open until the process ends. Starting the library and shutting it down takes 0.1 s, and eight
// processes that do so wait for each other for a second (seen on eight H200).
[[nodiscard]] const Nvml& open_nvml();

// Null if the library does not know the device.
[[nodiscard]] NvmlDevice device_at(const Nvml& nvml, const std::string& pci_address);

}  // namespace gputopo::cuda
