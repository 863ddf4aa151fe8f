// NVIDIA's Multi-Process Service. Its clients share a GPU at the same time, so that none has all SMs to itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace gputopo::cuda {

// True if an MPS control daemon answers in the folder of its pipes (CUDA_MPS_PIPE_DIRECTORY, or /tmp/nvidia-mps), so
// that the driver makes this process its client.
[[nodiscard]] bool has_mps_control();

// Clients of the server on the GPU as NVML counts them, this process included.
[[nodiscard]] std::optional<std::uint32_t> count_mps_clients(const std::string& pci_address);

}  // namespace gputopo::cuda
