// Describes a GPU by what the runtime and the amdgpu kernel driver report.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "device/hip/gfx_target.h"
#include "device/hip/kfd_topology.h"
#include "device/hip/runtime_api.h"
#include "gputopo/device.h"

namespace gputopo::hip {

// Empty if the runtime does not know the attribute or reports 0.
[[nodiscard]] std::optional<std::uint64_t> device_attribute(const Runtime& runtime, int ordinal,
                                                            DeviceAttribute attribute);

// Throws NotSupportedError if the GPU's wavefronts have another size than those of the kernels.
[[nodiscard]] DeviceInfo read_device_info(const Runtime& runtime, int ordinal, const std::string& pci_address,
                                          const KfdNode& node, const GfxTarget& target);

}  // namespace gputopo::hip
