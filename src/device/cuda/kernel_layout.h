// What the CUDA kernels share with those of all vendors (launch/kernel_layout.h), and the spaces that they know.
#pragma once

#include "device/launch/kernel_layout.h"

namespace gputopo::cuda {

using namespace launch;

// What NVIDIA GPUs have: no scalar path that programs can name.
inline constexpr Space kCudaSpaces[] = {Space::kGlobal,  Space::kGlobalBypassL1, Space::kReadOnly,
                                        Space::kTexture, Space::kConstant,       Space::kShared};

}  // namespace gputopo::cuda
