// HIP source of the kernels that run operation programs.
#pragma once

#include <span>
#include <string>

#include "device/hip/gfx_target.h"
#include "device/launch/operation_kernels.h"

namespace gputopo::hip {

// A kernel for each shape. All operations need a CDNA text. Arguments: OperationParameters, blocks, threads of a block.
[[nodiscard]] std::string generate_operation_source(const GfxTarget& target,
                                                    std::span<const launch::OperationShape> shapes);

}  // namespace gputopo::hip
