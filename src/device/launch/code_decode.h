// Converts the records that the blocks of an instruction program left into its result. Needs no GPU.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "device/launch/code_layout.h"

namespace gputopo::launch {

struct CodeAnswer {
  std::vector<BlockRecord> blocks;                      // by slot
  std::vector<std::vector<std::uint64_t>> pass_cycles;  // by step
};

// `memory`: from CodeLayout::records on. `sm_count`: for messages. Throws NotSupportedError if a named SM ran no block.
[[nodiscard]] CodeAnswer decode(const InstructionProgram& program, const CodeLayout& layout,
                                std::span<const std::byte> memory, std::uint32_t sm_count);

}  // namespace gputopo::launch
