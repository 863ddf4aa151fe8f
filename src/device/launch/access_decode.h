// Converts the records that the blocks and warps of an access program left into its result. Needs no GPU.
#pragma once

#include <string>
#include <vector>

#include "device/launch/kernel_layout.h"

namespace gputopo::launch {

// Throws DeviceError that names the kernel if a chain left its working set or the blocks did not start together.
void check_blocks(const std::vector<BlockRecord>& blocks, const std::string& kernel);
// `warps` are in order, block by block.
[[nodiscard]] AccessResult decode(const AccessProgram& program, const std::vector<WarpRecord>& warps);

// Start and end of the warps of one block, and the cost of reading the clock.
struct BlockSpan {
  std::uint64_t start_cycles = UINT64_MAX;
  std::uint64_t end_cycles = 0;
  std::uint64_t timer_cycles = UINT64_MAX;
  // From the first start to the last end, minus the timer cost.
  [[nodiscard]] double cycles() const;
};
[[nodiscard]] BlockSpan span_of(const std::vector<WarpRecord>& warps, std::size_t first, std::size_t count);

// Throws DeviceError if the `blocks` blocks of a launch did not start together.
void check_start(const BlockRecord& block, const std::string& kernel, std::size_t blocks);

}  // namespace gputopo::launch
