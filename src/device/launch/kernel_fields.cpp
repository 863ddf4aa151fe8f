#include "device/launch/kernel_fields.h"

#include <fmt/format.h>

#include <algorithm>

#include "device/launch/kernel_layout.h"
#include "gputopo/error.h"

namespace gputopo::launch {

const KernelField& kernel_field(std::string_view name, std::span<const KernelField> own) {
  static constexpr KernelField kShared[] = {
      GPUTOPO_KERNEL_STRUCT(FillTask, address, link_base, stride_bytes, skew_bytes, stagger_bytes, stagger_mask, tables,
                            count, visited, reversed, form),
      GPUTOPO_KERNEL_STRUCT(ChaseTask, steps, result, shared_image, shared_bytes, shared_offset, latency_offset,
                            step_count, wanted_sm, never, zero, dry_passes, patience_cycles, slot, turn,
                            longest_wait_cycles, local_count, local_words, local_image),
      GPUTOPO_KERNEL_STRUCT(StepTask, start, base, texture, stride_bytes, skew_bytes, stagger_bytes, stagger_mask,
                            table, result, code, thread, loads, cap, slot, elements),
      GPUTOPO_KERNEL_STRUCT(StepRecord, cycles),
      GPUTOPO_KERNEL_STRUCT(BlockRecord, start_cycles, end_cycles, start_ns, end_ns, sm, claimed, error, sink),
      GPUTOPO_KERNEL_STRUCT(CodeStepTask, result, kind, slot, thread, begin, end, stride, passes, lead),
      GPUTOPO_KERNEL_STRUCT(CodeParameters, steps, records, turn, step_count, never, wanted_sm, wanted_sm[0],
                            wanted_sm[1], patience_cycles, longest_wait_cycles, count),
      GPUTOPO_KERNEL_STRUCT(AccessParameters, working_set, bytes, hop_bytes, records, warp_records, arrived, claims,
                            lane_stride, warp_stride, warm_rounds, rounds, never, longest_wait_cycles),
      GPUTOPO_KERNEL_STRUCT(OperationOperands, chain, fixed, one),
      GPUTOPO_KERNEL_STRUCT(OperationParameters, operands, records, warp_records, arrived, claims, lane_mask,
                            warm_rounds, rounds, never, longest_wait_cycles),
      GPUTOPO_KERNEL_STRUCT(WarpRecord, start_cycles, end_cycles, timer_cycles),
      GPUTOPO_KERNEL_STRUCT(ClockRecord, timer, cycles, timer_step, clock_read, clock_bits),
      GPUTOPO_KERNEL_STRUCT(OccupancyParameters, operands, records, clock_records, stay_cycles, never)};
  for (const std::span<const KernelField> fields : {own, std::span<const KernelField>(kShared)}) {
    const auto found = std::ranges::find(fields, name, &KernelField::name);
    if (found != fields.end()) return *found;
  }
  throw Error(fmt::format("the kernels have no struct or field named {}", name));
}

}  // namespace gputopo::launch
