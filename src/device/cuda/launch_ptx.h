// The kernel that does nothing, which launches are timed with.
#pragma once

#include <cstdint>
#include <string>

#include "device/cuda/ptx_target.h"

namespace gputopo::cuda {

// A module with a kernel that does nothing, with so many bytes of arguments, and the target that it is for.
inline constexpr char kEmptyKernel[] = "empty";
struct LaunchTarget {
  PtxTarget ptx;
  std::uint32_t most_argument_bytes = 0;
};
[[nodiscard]] LaunchTarget launch_target(const PtxTarget& target, int driver_version);
[[nodiscard]] std::string generate_empty_ptx(const PtxTarget& target, std::uint32_t argument_bytes);

}  // namespace gputopo::cuda
