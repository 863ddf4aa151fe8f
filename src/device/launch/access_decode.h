// What the blocks and warps of an access program's launch left behind, as its result. No GPU is needed.
#pragma once

#include <string>
#include <vector>

#include "device/launch/kernel_layout.h"

namespace gputopo::launch {

// Throws DeviceError that names the kernel where a chain left its working set or the blocks did not start together.
void check_blocks(const std::vector<BlockRecord>& blocks, const std::string& kernel);
// The warps are in order, block by block.
[[nodiscard]] AccessResult decode(const AccessProgram& program, const std::vector<WarpRecord>& warps);

// When the warps of one block began and ended, and what reading the clock cost.
struct BlockSpan {
  std::uint64_t start_cycles = UINT64_MAX;
  std::uint64_t end_cycles = 0;
  std::uint64_t timer_cycles = UINT64_MAX;
  // From the first start to the last end, the timer's own cost taken off.
  [[nodiscard]] double cycles() const;
};
[[nodiscard]] BlockSpan span_of(const std::vector<WarpRecord>& warps, std::size_t first, std::size_t count);

// Throws DeviceError where the blocks of a launch, `blocks` of them, did not start together.
void check_start(const BlockRecord& block, const std::string& kernel, std::size_t blocks);

}  // namespace gputopo::launch
