// The empty kernel, by which launches are timed.
#pragma once

#include <cstdint>
#include <string>

#include "device/cuda/ptx_target.h"

namespace gputopo::cuda {

// The module with the empty kernel, which takes `argument_bytes` of arguments, and the target of the module.
inline constexpr char kEmptyKernel[] = "empty";
struct LaunchTarget {
  PtxTarget ptx;
  std::uint32_t most_argument_bytes = 0;
};
[[nodiscard]] LaunchTarget launch_target(const PtxTarget& target, int driver_version);
[[nodiscard]] std::string generate_empty_ptx(const PtxTarget& target, std::uint32_t argument_bytes);

}  // namespace gputopo::cuda
