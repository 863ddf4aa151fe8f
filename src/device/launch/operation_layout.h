// Offsets in the memory of an operation program's launch, and the kernel's parameters.
#pragma once

#include <array>

#include "device/launch/operation_kernels.h"

namespace gputopo::launch {

struct OperationLayout {
  std::uint32_t blocks = 0;
  std::uint64_t warps = 0;  // warps of all blocks
  // Offsets in bytes. The operands are at 0.
  std::uint64_t records = 0;
  std::uint64_t warp_records = 0;
  std::uint64_t arrived = 0;
  std::uint64_t claims = 0;
  std::uint64_t bytes = 0;  // total size
};

// Throws UsageError for a program that may take longer than a launch may last.
void check_duration(const OperationProgram& program);
[[nodiscard]] OperationLayout lay_out(const OperationProgram& program, std::uint32_t blocks);
[[nodiscard]] std::array<OperationOperands, 2> operands_of(const OperationProgram& program);
[[nodiscard]] OperationParameters encode(const OperationProgram& program, const OperationLayout& layout, Address base,
                                         bool claims);

}  // namespace gputopo::launch
