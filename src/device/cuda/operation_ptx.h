// PTX of the kernels that run operation programs.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "device/cuda/ptx_target.h"
#include "device/launch/operation_kernels.h"

namespace gputopo::cuda {

// A module with a kernel for each shape (OperationParameters), and kFrameKernel with one round of so many operations,
// each one instruction: what is around the rounds of the others is as long.
inline constexpr char kFrameKernel[] = "operation_frame";
inline constexpr std::uint32_t kFrameOperations = 4;
// Of the compiler, for these modules. Seen of the driver for an H200: 54 ms for a kernel of 512 operations, and a
// little more than half without what the higher levels look for. What they would merge is what is not wanted.
inline constexpr unsigned kOperationOptimization = 1;
// Rounds in a row in the loop of its kernel, and so in its code.
[[nodiscard]] std::uint32_t rounds_of_pass(const launch::OperationShape& shape);
// Whether four warps multiply matrices together: GPUs of compute capability 9.0 alone, whose drivers know it.
[[nodiscard]] bool has_warpgroups(const PtxTarget& target, int driver_version);
// The target with the newest PTX version that some operation needs and the driver knows.
// `is_own`: the target is the device's own compute capability, as code for one alone must be, and no older one.
[[nodiscard]] PtxTarget operation_target(const PtxTarget& target, int driver_version, bool is_own);
[[nodiscard]] bool is_own_target(const PtxTarget& target, const DeviceInfo& info);
// `most_operations`: of a round, where fewer than the shape's do, as for what only looks at the code.
[[nodiscard]] std::string generate_operation_ptx(
    const PtxTarget& target, std::span<const launch::OperationShape> shapes,
    std::uint32_t most_operations = std::numeric_limits<std::uint32_t>::max());

}  // namespace gputopo::cuda
