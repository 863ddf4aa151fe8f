// The kernels of transfers. All addresses are unified virtual ones: of this GPU, a peer that it reaches, or the host.
#pragma once

#include <string>

#include "device/cuda/ptx_target.h"

namespace gputopo::cuda {

// The module with the kernels of transfers: "read", "write", "load", "atomic", "atomic_of_gpu" and "store".
[[nodiscard]] std::string generate_transfer_ptx(const PtxTarget& target);

}  // namespace gputopo::cuda
