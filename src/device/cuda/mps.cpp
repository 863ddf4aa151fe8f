#include "device/cuda/mps.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "device/cuda/nvml_library.h"
#include "file/environment.h"

namespace gputopo::cuda {

bool has_mps_control() {
  const char* const folder = environment_variable("CUDA_MPS_PIPE_DIRECTORY");
  const std::string path = std::string(folder == nullptr || *folder == '\0' ? "/tmp/nvidia-mps" : folder) + "/control";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return false;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (file < 0) return false;
  const bool is_live = connect(file, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  close(file);
  return is_live;
}

std::optional<std::uint32_t> count_mps_clients(const std::string& pci_address) {
  constexpr unsigned kMost = 4096;
  constexpr std::size_t kLargestProcessInfo = 64;  // nvmlProcessInfo_t has 24 bytes
  const Nvml& nvml = open_nvml();
  NvmlDevice device = device_at(nvml, pci_address);
  if (device == nullptr) return std::nullopt;
  std::string buffer(kMost * kLargestProcessInfo, '\0');
  unsigned count = kMost;
  const bool is_told = nvml.call<NvmlStatus(NvmlDevice, unsigned*, void*)>(
      "nvmlDeviceGetMPSComputeRunningProcesses_v3", device, &count, static_cast<void*>(buffer.data()));
  return is_told && count <= kMost ? std::optional(count) : std::nullopt;
}

}  // namespace gputopo::cuda
