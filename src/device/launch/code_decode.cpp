#include "device/launch/code_decode.h"

#include <fmt/format.h>

#include <cstring>

#include "gputopo/error.h"

namespace gputopo::launch {
namespace {

// If a block's partner never came, that block reports an error, and the other SM is the one without a block.
void check_blocks(const CodeLayout& layout, const std::vector<BlockRecord>& blocks, std::uint32_t sm_count) {
  for (std::size_t slot = 0; slot < blocks.size(); ++slot) {
    if (blocks[slot].claimed != 0 && blocks[slot].error == 0) continue;
    const std::size_t missing = blocks[slot].claimed == 0 ? slot : blocks.size() - 1 - slot;
    throw NotSupportedError(
        fmt::format("no block of the launch ran on SM {}: the numbering of this GPU's {} SMs may have gaps",
                    layout.sms[missing], sm_count));
  }
}

}  // namespace

CodeAnswer decode(const InstructionProgram& program, const CodeLayout& layout, std::span<const std::byte> memory,
                  std::uint32_t sm_count) {
  CodeAnswer answer;
  answer.blocks.resize(layout.sms.size());
  std::memcpy(answer.blocks.data(), memory.data(), answer.blocks.size() * sizeof(BlockRecord));
  check_blocks(layout, answer.blocks, sm_count);
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    auto& cycles = answer.pass_cycles.emplace_back(program.steps[i].passes);
    std::memcpy(cycles.data(), memory.subspan(layout.passes[i] - layout.records).data(),
                cycles.size() * sizeof(std::uint64_t));
  }
  return answer;
}

}  // namespace gputopo::launch
