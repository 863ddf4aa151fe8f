#include "device/hip/chase_kernels_source.h"

#include <fmt/format.h>

#include "device/hip/gfx_target.h"
#include "device/hip/source_text.h"
#include "device/launch/kernel_layout.h"
#include "gputopo/program/chase.h"

namespace gputopo::hip {
namespace {

// Calls the step function of the step's space. One lane takes an actor's step, but a whole wavefront its scalar loads.
std::string dispatch(std::string_view kind, std::string_view arguments, bool by_actor, bool only_global = false) {
  std::string text;
  for (const Space space : kHipSpaces) {
    if (only_global && !is_global(space)) continue;
    std::string statement = fmt::format("{}{}_step_{}{};", by_actor ? "ok = " : "", kind, to_string(space), arguments);
    if (by_actor && space != Space::kScalar) {
      statement = fmt::format("{{ if (task.lane == step.thread % kWavefront) {} }}", statement);
    }
    text += fmt::format("    {}if (step.space == {}u) {}\n", text.empty() ? "" : "else ",
                        static_cast<std::uint32_t>(space), statement);
  }
  return text;
}

constexpr std::string_view kChaseKernels = R"hip(
// Waits until the steps before `index` have ended on all SMs. Returns false if they did not in time.
DEVICE bool wait_for_turn(const Task& task, u32 index) {
  const u64 begin = clock();
  while (uniform32(read32(task.turn)) != index) {
    if (clock() - begin > task.longest_wait) return false;
    __builtin_amdgcn_s_sleep(8);
  }
  return true;
}

KERNEL void chase(u64 tasks, u32 task_count, u32 by_block, u32 threads) {
  Task task;
  task.thread = __builtin_amdgcn_workitem_id_x();
  task.threads = threads;
  task.lane = task.thread % kWavefront;
  const u32 sm = hardware_id();
  const bool first_thread = task.thread == 0;
  const u32 block = __builtin_amdgcn_workgroup_id_x();
  // Returns the task of this block, or the task for this SM, which the first block on the SM takes.
  u64 at = 0;
  if (by_block) {
    at = tasks + (u64)block * kChaseTask_bytes;
  } else {
    for (u32 i = 0; i < task_count && at == 0; ++i) {
      const u64 candidate = tasks + (u64)i * kChaseTask_bytes;
      if (uniform32(read32(candidate + kChaseTask_wanted_sm)) == sm) at = candidate;
    }
    if (at == 0) {
      const u32 patience = uniform32(read32(tasks + kChaseTask_patience_cycles));
      const u64 begin = clock();
      while (clock() - begin < patience) __builtin_amdgcn_s_sleep(1);
      return;
    }
  }
  task.steps = uniform64(read64(at + kChaseTask_steps));
  task.result = uniform64(read64(at + kChaseTask_result));
  task.image = uniform64(read64(at + kChaseTask_shared_image));
  task.turn = uniform64(read64(at + kChaseTask_turn));
  task.copy_bytes = uniform32(read32(at + kChaseTask_shared_bytes));
  task.copy_to = uniform32(read32(at + kChaseTask_shared_offset)) + lds_address();
  task.latencies = uniform32(read32(at + kChaseTask_latency_offset));
  task.step_count = uniform32(read32(at + kChaseTask_step_count));
  task.never = uniform32(read32(at + kChaseTask_never));
  task.dry_passes = uniform32(read32(at + kChaseTask_dry_passes));
  task.slot = uniform32(read32(at + kChaseTask_slot));
  task.longest_wait = uniform32(read32(at + kChaseTask_longest_wait_cycles));
  const u32 image_at = uniform32(read32(at + kChaseTask_shared_offset));

  if (first_thread) lds[0] = take(task.result + kBlockRecord_claimed);
  barrier();
  const u32 taken = uniform32(lds[0]);
  barrier();
  if (taken != 0) return;

  if (first_thread) {
    write64(task.result + kBlockRecord_start_ns, wall_clock());
    write64(task.result + kBlockRecord_start_cycles, clock());
    write32(task.result + kBlockRecord_sm, sm);
  }
  for (u32 i = 4 * task.thread; i < task.copy_bytes; i += 4 * threads) {
    lds[(image_at + i) / 4] = read32(task.image + i) + task.copy_to;
  }
  u32 error = 0;
  #pragma clang loop unroll(disable)
  for (u32 index = 0; index < task.step_count; ++index) {
    const u64 from = task.steps + (u64)index * kStepTask_bytes;
    Step step;
    step.slot = uniform32(read32(from + kStepTask_slot));
    if (task.turn != 0) {
      if (step.slot != task.slot) continue;
      if (!wait_for_turn(task, index)) {
        if (first_thread) write32(task.result + kBlockRecord_error, kNoTurn);
        break;
      }
    }
    step.start = read64(from + kStepTask_start);
    step.base = uniform64(read64(from + kStepTask_base));
    step.stride = uniform64(read64(from + kStepTask_stride_bytes));
    step.skew = uniform64(read64(from + kStepTask_skew_bytes));
    step.stagger = read64(from + kStepTask_stagger_bytes);
    step.stagger_mask = read64(from + kStepTask_stagger_mask);
    step.table = uniform64(read64(from + kStepTask_table));
    step.result = uniform64(read64(from + kStepTask_result));
    const u32 code = uniform32(read32(from + kStepTask_code));
    step.kind = code % kStepCodes;
    step.space = code / kStepCodes;
    step.thread = uniform32(read32(from + kStepTask_thread));
    step.loads = uniform32(read32(from + kStepTask_loads));
    step.cap = uniform32(read32(from + kStepTask_cap));
    step.elements = uniform32(read32(from + kStepTask_elements));
    const bool counts = step.kind == kTimed || step.kind == kPaired;
    if (counts) {
      for (u32 i = task.thread; i < kHistogramBins; i += threads) lds[i] = 0;
    }
    barrier();
    const u64 begin = clock();
    u64 cycles = 0;
    bool ok = true;
    if (step.kind == kTouch) {
@TOUCH@    } else if (uniform32(task.thread / kWavefront) == step.thread / kWavefront) {
      if (step.kind == kTimed) {
@TIMED@      } else if (step.kind == kPaired) {
@PAIRED@      } else if (step.kind == kStore) {
        if (task.lane == step.thread % kWavefront) store_step(step, cycles);
      } else {
@WARM@      }
      if (task.thread == step.thread) {
        write64(step.result + kStepRecord_cycles, cycles);
        if (!ok) write32(task.result + kBlockRecord_error, index + 1);
      }
    }
    barrier();
    // A touch ends when all threads have ended.
    if (step.kind == kTouch && first_thread) write64(step.result + kStepRecord_cycles, clock() - begin);
    if (counts) {
      const u64 to = step.result + kStepRecord_end;
      for (u32 i = task.thread; i < kHistogramBins; i += threads) write32(to + 4 * (u64)i, lds[i]);
      for (u32 i = task.thread; i < step.cap; i += threads) {
        write32(to + 4 * (u64)(kHistogramBins + i), lds[task.latencies / 4 + i]);
      }
      barrier();
    }
    if (task.turn != 0 && first_thread) write32(task.turn, index + 1);
  }
  if (first_thread) end_block(task.result);
}

// Returns the offset of the element at a position of an order.
DEVICE u64 place_of(u64 task, u64 table, u32 reversed, u32 count, u32 position, u64 chain_bytes) {
  u32 element = reversed ? count - 1 - position : position;
  if (table != 0) element = read32(table + 4 * (u64)position);
  const u64 stride = read64(task + kFillTask_stride_bytes);
  const u64 skew = 2 * (u64)element >= count ? read64(task + kFillTask_skew_bytes) : 0;
  const u64 stagger = (element * read64(task + kFillTask_stagger_bytes)) & read64(task + kFillTask_stagger_mask);
  return element * stride + skew + stagger + chain_bytes;
}

// Writes the links of the arrays: blockIdx.y selects the array, and the threads of its blocks share the elements.
KERNEL void fill(u64 tasks, u32 blocks, u32 threads) {
  const u64 task = tasks + (u64)__builtin_amdgcn_workgroup_id_y() * kFillTask_bytes;
  const u64 address = read64(task + kFillTask_address);
  const u64 link_base = read64(task + kFillTask_link_base);
  const u32 count = read32(task + kFillTask_count);
  const bool pointers = read32(task + kFillTask_form) == kPointerForm;
  for (u32 chain = 0; chain < 2; ++chain) {
    const u64 table = read64(task + kFillTask_tables + 8 * chain);
    const u32 reversed = read32(task + kFillTask_reversed + 4 * chain);
    const u32 visited = read32(task + kFillTask_visited + 4 * chain);
    for (u32 i = __builtin_amdgcn_workgroup_id_x() * threads + __builtin_amdgcn_workitem_id_x(); i < visited;
         i += blocks * threads) {
      const u32 next = i + 1 == visited ? 0 : i + 1;
      const u64 place = address + place_of(task, table, reversed, count, i, 8 * chain);
      const u64 link = link_base + place_of(task, table, reversed, count, next, 8 * chain);
      if (pointers) {
        write64(place, link);
      } else {
        write32(place, (u32)link);
      }
    }
  }
}

// Keeps the CUs busy for `ticks` of the wall clock. The first block reports cycles and time, each block its CU.
KERNEL void spin(u64 records, u64 ticks) {
  const u64 record = records + (u64)__builtin_amdgcn_workgroup_id_x() * kBlockRecord_bytes;
  const u64 wall = wall_clock();
  const u64 cycles = clock();
  u64 now = wall;
  while (now - wall < ticks) now = wall_clock();
  if (__builtin_amdgcn_workitem_id_x() != 0) return;
  write64(record + kBlockRecord_start_cycles, cycles);
  write64(record + kBlockRecord_end_cycles, clock());
  write64(record + kBlockRecord_start_ns, wall);
  write64(record + kBlockRecord_end_ns, now);
  write32(record + kBlockRecord_sm, hardware_id());
}
)hip";

}  // namespace

const std::string_view kChaseStructs = R"hip(
struct Task {
  u64 steps, result, image, turn;
  u32 copy_bytes, copy_to, latencies, step_count, never, dry_passes, slot, longest_wait;
  u32 thread, threads, lane;
};
struct Step {
  u64 start, base, stride, skew, stagger, stagger_mask, table, result;
  u32 kind, space, thread, loads, cap, slot, elements;
};
)hip";

std::string chase_kernels() {
  std::string kernels(kChaseKernels);
  replace_placeholder(kernels, "@TOUCH@", dispatch("touch", "(task, step)", false));
  replace_placeholder(kernels, "@TIMED@", dispatch("timed", "(task, step, cycles)", true));
  replace_placeholder(kernels, "@PAIRED@", dispatch("paired", "(task, step, cycles)", true, true));
  replace_placeholder(kernels, "@WARM@", dispatch("warm", "(task, step, cycles)", true));
  return kernels;
}

}  // namespace gputopo::hip
