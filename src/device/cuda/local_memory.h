// Kernels with arrays in local memory. The driver reserves that for every thread that the GPU can run at a time, from
// the first launch until the context ends: 8 GiB on an H200 for frames of 32 KiB.
#pragma once

#include <cstdint>
#include <map>

#include "device/cuda/compile_ahead.h"
#include "device/cuda/driver_api.h"
#include "device/cuda/ptx_target.h"
#include "gputopo/device.h"

namespace gputopo::cuda {

// Throws NotSupportedError if frames for `local_bytes` of a warp need more memory than was free at the opening.
void require_room_for_frames(const DeviceInfo& info, std::uint64_t local_bytes);

// The modules of chase programs, one for each frame size, compiled on demand.
class LocalModules {
 public:
  [[nodiscard]] const Module& module(const CompileAhead& compiler, const PtxTarget& target, std::uint64_t local_bytes);

 private:
  std::map<std::uint64_t, Module> modules_;  // by the bytes of a frame
};

}  // namespace gputopo::cuda
