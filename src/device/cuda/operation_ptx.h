// PTX of the kernels that run operation programs.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "device/cuda/ptx_target.h"
#include "device/launch/operation_kernels.h"

namespace gputopo::cuda {

// The module with a kernel for each shape (OperationParameters), and kFrameKernel, which has one round of
// kFrameOperations operations of one instruction each. The code around the rounds is as long in the other kernels.
inline constexpr char kFrameKernel[] = "operation_frame";
inline constexpr std::uint32_t kFrameOperations = 4;
// Optimization level of the compiler for these modules. On an H200 the driver takes 54 ms for a kernel of 512
// operations, and little more than half without the higher levels' searches, which would merge what must stay apart.
inline constexpr unsigned kOperationOptimization = 1;
// Consecutive rounds in the loop of the kernel, and so in its code.
[[nodiscard]] std::uint32_t rounds_of_pass(const launch::OperationShape& shape);
// Whether four warps can multiply matrices together: only on compute capability 9.0, with a driver that knows it.
[[nodiscard]] bool has_warpgroups(const PtxTarget& target, int driver_version);
// The target with the newest PTX version that some operation needs and the driver knows. `is_own`: the target is the
// device's own compute capability, not an older one. Code for one capability alone needs this.
[[nodiscard]] PtxTarget operation_target(const PtxTarget& target, int driver_version, bool is_own);
[[nodiscard]] bool is_own_target(const PtxTarget& target, const DeviceInfo& info);
// `most_operations`: limit of the operations of a round, for callers that only look at the code.
[[nodiscard]] std::string generate_operation_ptx(
    const PtxTarget& target, std::span<const launch::OperationShape> shapes,
    std::uint32_t most_operations = std::numeric_limits<std::uint32_t>::max());

}  // namespace gputopo::cuda
