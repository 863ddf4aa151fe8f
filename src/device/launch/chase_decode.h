// Converts the records that the blocks of a batch of chase programs left into results. Needs no GPU.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "device/launch/chase_layout.h"
#include "device/launch/launch_gpu.h"

namespace gputopo::launch {

struct ChaseAnswer {
  std::vector<StepResult> steps;
  BlockRecord block{};  // record of the program's first SM
  bool met_another =
      // Another block of the batch ran on one of its SMs, so both shared what belongs to one SM.
      false;
  bool was_stopped = false;  // a load took as long as only another process's turn does
  LaunchSpan span;           // run of its blocks
};

// `records`: the bytes from BatchLayout::records_begin on. `sm_count`: for messages. Returns one answer for each
// program. Throws NotSupportedError for a block that never ran, DeviceError for one that failed.
[[nodiscard]] std::vector<ChaseAnswer> decode(const std::vector<ChasePlan*>& batch, const BatchLayout& layout,
                                              std::span<const std::byte> records, std::uint32_t sm_count);

}  // namespace gputopo::launch
