// What the blocks of a batch of chase programs left behind, as results. No GPU is needed.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "device/launch/chase_layout.h"
#include "device/launch/launch_gpu.h"

namespace gputopo::launch {

struct ChaseAnswer {
  std::vector<StepResult> steps;
  BlockRecord block{};  // of the program's first SM
  bool met_another =
      false;  // another block of the batch ran on one of its SMs, so it shared what SMs have for themselves
  bool was_stopped = false;  // a load took as long as only another process's turn does
  LaunchSpan span;           // of its blocks
};

// `records`: the bytes from BatchLayout::records_begin on. One answer a program, in order. `sm_count`: for messages.
// Throws NotSupportedError for a block that never ran, DeviceError for one that failed.
[[nodiscard]] std::vector<ChaseAnswer> decode(const std::vector<ChasePlan*>& batch, const BatchLayout& layout,
                                              std::span<const std::byte> records, std::uint32_t sm_count);

}  // namespace gputopo::launch
