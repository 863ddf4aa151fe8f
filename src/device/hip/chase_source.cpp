// The kernels that run chase programs on CDNA. What the timing depends on, and a test checks in the machine code:
// - A timed load is one piece of assembly with both clock readings: s_memtime, the wait that its reading has come back,
//   the load, the wait that its data has, s_memtime. Nothing can move in between or out.
// - A load is followed by the next one as soon as its data is there (s_waitcnt), so an untimed chain takes its latency
//   a load.
// - Loops are not unrolled by the compiler, and each is passed through once with its loads off (no lane active, or
//   jumped over where a load asks no lanes), so that the pass that counts finds its code in the instruction cache.
// - Descriptors are read and results written past vL1, with vector accesses: the scalar cache, which the compiler would
//   read them through, may be what is measured.
// - The wavefront that follows the chain is told from the others by a scalar branch, because scalar loads do not ask
//   which lanes are active.
#include <fmt/format.h>

#include <bit>
#include <cstddef>

#include "device/hip/kernel_source.h"
#include "device/hip/source_text.h"

namespace gputopo::hip {
namespace {

using namespace launch;

constexpr std::uint32_t kUnroll = 32;

std::string repeat(std::string_view text, std::uint32_t times) {
  std::string result;
  for (std::uint32_t i = 0; i < times; ++i) result += text;
  return result;
}

// The load of one link from where the last one points: assembly, and the wait for it.
struct Follow {
  std::string load;
  std::string wait;
};

Follow follow_of(const GfxTarget& target, Space space) {
  switch (space) {
    case Space::kGlobalBypassL1:
      return {"global_load_dwordx2 %[link], %[link], off " + target.bypass, "s_waitcnt vmcnt(0)"};
    case Space::kShared:
      return {"ds_read_b32 %[link], %[link]", "s_waitcnt lgkmcnt(0)"};
    case Space::kScalar:
      // Into other registers: a load that is replayed must find its address (XNACK).
      return {"s_load_dwordx2 %[next], %[link], 0x0", "s_waitcnt lgkmcnt(0)"};
    default:
      return {"global_load_dwordx2 %[link], %[link], off", "s_waitcnt vmcnt(0)"};
  }
}

// Vector loads and LDS: no lane is active in the dry pass.
std::string vector_functions(const GfxTarget& target, Space space) {
  const Follow follow = follow_of(target, space);
  const std::string name(to_string(space));
  const char* type = space == Space::kShared ? "u32" : "u64";
  std::string text = fmt::format(
      R"hip(
DEVICE void follow_{0}({1}& link, u64 live) {{
  u64 lanes;
  asm volatile(
      "s_mov_b64 %[lanes], exec\n"
      "s_and_b64 exec, exec, %[live]\n"
      "{2}\n{3}\n"
      "s_mov_b64 exec, %[lanes]\n"
      : [link] "+v"(link), [lanes] "=&s"(lanes) : [live] "s"(live) : "memory", "scc");
}}
DEVICE void follow_many_{0}({1}& link, u64 live) {{
  u64 lanes;
  asm volatile(
      "s_mov_b64 %[lanes], exec\n"
      "s_and_b64 exec, exec, %[live]\n"
      "{4}"
      "s_mov_b64 exec, %[lanes]\n"
      : [link] "+v"(link), [lanes] "=&s"(lanes) : [live] "s"(live) : "memory", "scc");
}}
DEVICE u64 timed_{0}({1}& link, u64 live) {{
  u64 lanes, before, after;
  asm volatile(
      "s_mov_b64 %[lanes], exec\n"
      "s_and_b64 exec, exec, %[live]\n"
      "s_waitcnt vmcnt(0) lgkmcnt(0)\n"
      "s_memtime %[before]\n"
      "s_waitcnt lgkmcnt(0)\n"
      "{2}\n"
      "{3}\n"
      "s_memtime %[after]\n"
      "s_waitcnt lgkmcnt(0)\n"
      "s_mov_b64 exec, %[lanes]\n"
      : [link] "+v"(link), [before] "=&s"(before), [after] "=&s"(after), [lanes] "=&s"(lanes)
      : [live] "s"(live) : "memory", "scc");
  return after - before;
}}
)hip",
      name, type, follow.load, follow.wait, repeat(follow.load + "\\n" + follow.wait + "\\n", kUnroll));
  return text;
}

// Scalar loads: the dry pass jumps over them.
std::string scalar_functions(const GfxTarget& target) {
  const Follow follow = follow_of(target, Space::kScalar);
  const std::string back = "s_load_dwordx2 %[link], %[next], 0x0\\n" + follow.wait + "\\n";
  return fmt::format(
      R"hip(
DEVICE void follow_scalar(u64& link, u64 live) {{
  u64 next;
  asm volatile(
      "s_cmp_eq_u64 %[live], 0\n"
      "s_mov_b64 %[next], %[link]\n"
      "s_cbranch_scc1 1f\n"
      "{0}\n"
      "1:\n"
      "{1}\n"
      "s_mov_b64 %[link], %[next]\n"
      : [link] "+s"(link), [next] "=&s"(next) : [live] "s"(live) : "memory", "scc");
}}
DEVICE void follow_many_scalar(u64& link, u64 live) {{
  u64 next;
  asm volatile(
      "s_cmp_eq_u64 %[live], 0\n"
      "s_cbranch_scc1 1f\n"
      "{2}"
      "1:\n"
      : [link] "+&s"(link), [next] "=&s"(next) : [live] "s"(live) : "memory", "scc");
}}
DEVICE u64 timed_scalar(u64& link, u64 live) {{
  u64 next, before, after;
  asm volatile(
      "s_mov_b64 %[next], %[link]\n"
      "s_cmp_eq_u64 %[live], 0\n"
      "s_waitcnt vmcnt(0) lgkmcnt(0)\n"
      "s_memtime %[before]\n"
      "s_waitcnt lgkmcnt(0)\n"
      "s_cbranch_scc1 1f\n"
      "{0}\n"
      "1:\n"
      "{1}\n"
      "s_memtime %[after]\n"
      "s_waitcnt lgkmcnt(0)\n"
      "s_mov_b64 %[link], %[next]\n"
      : [link] "+&s"(link), [next] "=&s"(next), [before] "=&s"(before), [after] "=&s"(after)
      : [live] "s"(live) : "memory", "scc");
  return after - before;
}}
)hip",
      follow.load, follow.wait, repeat(follow.load + "\\n" + follow.wait + "\\n" + back, kUnroll / 2));
}

// A chain in the source: the type of its links, the first of them, and what tells that it has left its array.
struct Chain {
  const char* type;
  const char* start;
  const char* lost;
};

Chain chain_of(Space space) {
  if (space == Space::kShared) return {"u32", "(u32)step.start + task.copy_to", "link == kNoLink"};
  return {"u64", space == Space::kScalar ? "uniform64(step.start)" : "step.start", "link == 0"};
}

// A step that counts. `load`: statements that follow `link`, declare `wide`, which is counted, and set `lost`. In the
// dry pass `live` is 0: no loads, nothing is counted or kept.
std::string counting_function(std::string_view kind, Space space, std::string_view load) {
  const Chain chain = chain_of(space);
  return fmt::format(
      R"hip(
DEVICE bool {0}_step_{1}(const Task& task, const Step& step, u64& cycles) {{
  {2} link = {3};
  u64 begin = 0;
  bool lost = false;
  #pragma clang loop unroll(disable)
  for (u32 pass = task.dry_passes;; --pass) {{
    const u64 live = uniform64(pass == 0 ? ~0ull : 0);
    const u32 todo = uniform32(pass == 0 ? step.loads : 1);
    const u32 kept = uniform32(pass == 0 ? step.cap : 0);
    const u32 increment = pass == 0 ? 1 : 0;
    link = {3};
    begin = clock();
    #pragma clang loop unroll(disable)
    for (u32 i = 0; i < todo; ++i) {{
{4}      if (lost) break;
      const u32 latency = wide > 0xffffffffull ? 0xffffffffu : (u32)wide;
      const u32 bin = latency / kHistogramBinCycles < kHistogramBins ? latency / kHistogramBinCycles
                                                                      : kHistogramBins - 1;
      if ({5}) {{
        lds[bin] += increment;
        if (i < kept) lds[task.latencies / 4 + i] = latency;
      }}
    }}
    if (pass == 0 || lost) break;
  }}
  cycles = clock() - begin;
  return !lost;
}}
)hip",
      kind, to_string(space), chain.type, chain.start, load,
      space == Space::kScalar ? "task.lane == step.thread % kWavefront" : "true");
}

std::string timed_function(Space space) {
  return counting_function("timed", space,
                           fmt::format("      const u64 wide = timed_{}(link, live);\n      lost = {};\n",
                                       to_string(space), chain_of(space).lost));
}

// The same link is followed twice, and what counts is how much longer the first time took.
std::string paired_function(Space space) {
  return counting_function("paired", space,
                           fmt::format(R"hip(      u64 again = link;
      const u64 first = kPairedZeroCycles + timed_{0}(link, live);
      const u64 second = timed_{0}(again, live);
      const u64 wide = first > second ? first - second : 0;
      lost = {1} || again != link;
)hip",
                                       to_string(space), chain_of(space).lost));
}

// The untimed steps in one space: a chain, and a touch.
std::string untimed_functions(Space space) {
  const Chain chain = chain_of(space);
  const bool scalar = space == Space::kScalar;
  const bool shared = space == Space::kShared;
  const std::string name(to_string(space));
  std::string touch;
  if (scalar) {
    touch = R"hip(
  const u32 waves = task.threads / kWavefront;
  for (u32 i = uniform32(task.thread / kWavefront); i < step.loads; i += waves) {
    const u64 at = uniform64(step.base + i * step.stride + (i >= half ? step.skew : 0));
    u32 value;
    asm volatile("s_load_dword %0, %1, 0x0\n s_waitcnt lgkmcnt(0)" : "=&s"(value) : "s"(at) : "memory");
    sum ^= value;
  })hip";
  } else {
    touch = fmt::format(R"hip(
  for (u32 i = task.thread; i < step.loads; i += task.threads) {{
    const u64 at = step.base + i * step.stride + (i >= half ? step.skew : 0);
    sum ^= read_{}(at{});
  }})hip",
                        name, shared ? " + task.copy_to" : "");
  }
  return fmt::format(
      R"hip(
DEVICE bool warm_step_{0}(const Task& task, const Step& step, u64& cycles) {{
  {1} link = {2};
  u64 begin = 0, end = 0;
  #pragma clang loop unroll(disable)
  for (u32 pass = task.dry_passes;; --pass) {{
    const u64 live = uniform64(pass == 0 ? ~0ull : 0);
    u32 todo = uniform32(pass == 0 ? step.loads : kUnroll + 1);
    link = {2};
    begin = clock();
    #pragma clang loop unroll(disable)
    for (u32 rest = todo % kUnroll; rest != 0; --rest) follow_{0}(link, live);
    #pragma clang loop unroll(disable)
    for (u32 many = todo / kUnroll; many != 0; --many) follow_many_{0}(link, live);
    end = clock();
    if (pass == 0) break;
  }}
  cycles = end - begin;
  return !({3});
}}
DEVICE void touch_step_{0}(const Task& task, const Step& step) {{
  const u32 half = (step.loads + 1) / 2;
  u32 sum = 0;{4}
  if (sum == task.never) write32(task.result + kBlockRecord_sink, sum);
}}
)hip",
      name, chain.type, chain.start, chain.lost, touch);
}

// Both links of each element: to the next one and, of the other chain, to the one before.
std::string store_function(const GfxTarget& target) {
  return fmt::format(
      R"hip(
DEVICE void store_step(const Step& step, u64& cycles) {{
  u64 previous = step.base + (u64)(step.elements - 1) * step.stride;
  u64 at = step.base;
  const u64 begin = clock();
  #pragma clang loop unroll(disable)
  for (u32 i = 1; i <= step.loads; ++i) {{
    const u64 next = i == step.elements ? step.base : at + step.stride;
    previous += 8;
    if (step.space == kGlobalSpace) {{
      asm volatile("global_store_dwordx2 %0, %1, off\n global_store_dwordx2 %0, %2, off offset:8"
                   : : "v"(at), "v"(next), "v"(previous) : "memory");
    }} else {{
      asm volatile("global_store_dwordx2 %0, %1, off {0}\n global_store_dwordx2 %0, %2, off offset:8 {0}"
                   : : "v"(at), "v"(next), "v"(previous) : "memory");
    }}
    previous = at;
    at = next;
  }}
  cycles = clock() - begin;
}}
)hip",
      target.bypass);
}

// Calls the step of the space that the step names. A step by an actor is one lane's, but for scalar loads, which are
// the whole wavefront's.
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

constexpr std::string_view kStructs = R"hip(
struct Task {
  u64 steps, result, image, turn;
  u32 copy_bytes, copy_to, latencies, step_count, never, dry_passes, slot, longest_wait;
  u32 thread, threads, lane;
};
struct Step {
  u64 start, base, stride, skew, result;
  u32 kind, space, thread, loads, cap, slot, elements;
};
)hip";

constexpr std::string_view kKernels = R"hip(
// Until the steps before `index` have ended, on whatever SM. False: they did not.
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
  // The task of this block, or the one that wants this SM; the first block there takes it.
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
    // A touch has ended when all threads have.
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
  if (first_thread) {
    write64(task.result + kBlockRecord_end_ns, wall_clock());
    write64(task.result + kBlockRecord_end_cycles, clock());
  }
}

// Offset of the element at a position of an order.
DEVICE u64 place_of(u64 task, u64 table, u32 reversed, u32 count, u32 position, u64 chain_bytes) {
  u32 element = reversed ? count - 1 - position : position;
  if (table != 0) element = read32(table + 4 * (u64)position);
  const u64 stride = read64(task + kFillTask_stride_bytes);
  const u64 skew = 2 * (u64)element >= count ? read64(task + kFillTask_skew_bytes) : 0;
  const u64 stagger = (element * read64(task + kFillTask_stagger_bytes)) & read64(task + kFillTask_stagger_mask);
  return element * stride + skew + stagger + chain_bytes;
}

// Writes the links of the arrays: blockIdx.y is the array, the threads of its blocks share the elements.
KERNEL void fill(u64 tasks, u32 blocks, u32 threads) {
  const u64 task = tasks + (u64)__builtin_amdgcn_workgroup_id_y() * kFillTask_bytes;
  const u64 address = read64(task + kFillTask_address);
  const u64 link_base = read64(task + kFillTask_link_base);
  const u32 count = read32(task + kFillTask_count);
  const bool pointers = read32(task + kFillTask_form) == kPointerForm;
  for (u32 chain = 0; chain < 2; ++chain) {
    const u64 table = read64(task + kFillTask_tables + 8 * chain);
    const u32 reversed = read32(task + kFillTask_reversed + 4 * chain);
    for (u32 i = __builtin_amdgcn_workgroup_id_x() * threads + __builtin_amdgcn_workitem_id_x(); i < count;
         i += blocks * threads) {
      const u32 next = i + 1 == count ? 0 : i + 1;
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

// Keeps the CUs busy for `ticks` of the wall clock; the first block tells cycles and time, each block where it ran.
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

void replace(std::string& text, std::string_view placeholder, std::string_view by) {
  text.replace(text.find(placeholder), placeholder.size(), by);
}

}  // namespace

std::string generate_chase_source(const GfxTarget& target) {
  SourceText text(target);
  text.constant("kUnroll", kUnroll);
  text.constant("kHistogramBins", kHistogramBins);
  text.constant("kHistogramBinCycles", kHistogramBinCycles);
  text.constant("kStepCodes", kStepCodes);
  text.constant("kTouch", static_cast<std::uint32_t>(StepCode::kTouch));
  text.constant("kTimed", static_cast<std::uint32_t>(StepCode::kTimed));
  text.constant("kPaired", static_cast<std::uint32_t>(StepCode::kPaired));
  text.constant("kPairedZeroCycles", kPairedZeroCycles);
  text.constant("kStore", static_cast<std::uint32_t>(StepCode::kStore));
  text.constant("kGlobalSpace", static_cast<std::uint32_t>(Space::kGlobal));
  text.constant("kPointerForm", static_cast<std::uint32_t>(LinkForm::kPointer));
  text.constant("kNoLink", kNoLink);
  text.constant("kNoTurn", kNoTurn);
#define GPUTOPO_OFFSET(type, field) text.constant("k" #type "_" #field, offsetof(type, field));
  GPUTOPO_OFFSET(ChaseTask, steps)
  GPUTOPO_OFFSET(ChaseTask, result)
  GPUTOPO_OFFSET(ChaseTask, shared_image)
  GPUTOPO_OFFSET(ChaseTask, shared_bytes)
  GPUTOPO_OFFSET(ChaseTask, shared_offset)
  GPUTOPO_OFFSET(ChaseTask, latency_offset)
  GPUTOPO_OFFSET(ChaseTask, step_count)
  GPUTOPO_OFFSET(ChaseTask, wanted_sm)
  GPUTOPO_OFFSET(ChaseTask, never)
  GPUTOPO_OFFSET(ChaseTask, dry_passes)
  GPUTOPO_OFFSET(ChaseTask, patience_cycles)
  GPUTOPO_OFFSET(ChaseTask, slot)
  GPUTOPO_OFFSET(ChaseTask, turn)
  GPUTOPO_OFFSET(ChaseTask, longest_wait_cycles)
  GPUTOPO_OFFSET(StepTask, start)
  GPUTOPO_OFFSET(StepTask, base)
  GPUTOPO_OFFSET(StepTask, stride_bytes)
  GPUTOPO_OFFSET(StepTask, skew_bytes)
  GPUTOPO_OFFSET(StepTask, result)
  GPUTOPO_OFFSET(StepTask, code)
  GPUTOPO_OFFSET(StepTask, thread)
  GPUTOPO_OFFSET(StepTask, loads)
  GPUTOPO_OFFSET(StepTask, cap)
  GPUTOPO_OFFSET(StepTask, slot)
  GPUTOPO_OFFSET(StepTask, elements)
  GPUTOPO_OFFSET(StepRecord, cycles)
  GPUTOPO_OFFSET(FillTask, address)
  GPUTOPO_OFFSET(FillTask, link_base)
  GPUTOPO_OFFSET(FillTask, stride_bytes)
  GPUTOPO_OFFSET(FillTask, skew_bytes)
  GPUTOPO_OFFSET(FillTask, stagger_bytes)
  GPUTOPO_OFFSET(FillTask, stagger_mask)
  GPUTOPO_OFFSET(FillTask, tables)
  GPUTOPO_OFFSET(FillTask, reversed)
  GPUTOPO_OFFSET(FillTask, count)
  GPUTOPO_OFFSET(FillTask, form)
#undef GPUTOPO_OFFSET
  text.constant("kChaseTask_bytes", sizeof(ChaseTask));
  text.constant("kStepTask_bytes", sizeof(StepTask));
  text.constant("kFillTask_bytes", sizeof(FillTask));
  text.constant("kStepRecord_end", sizeof(StepRecord));
  text.raw(kStructs);
  for (const Space space : kHipSpaces) {
    text.raw(space == Space::kScalar ? scalar_functions(target) : vector_functions(target, space));
    text.raw(untimed_functions(space));
    text.raw(timed_function(space));
    if (is_global(space)) text.raw(paired_function(space));
  }
  text.raw(store_function(target));
  std::string kernels(kKernels);
  replace(kernels, "@TOUCH@", dispatch("touch", "(task, step)", false));
  replace(kernels, "@TIMED@", dispatch("timed", "(task, step, cycles)", true));
  replace(kernels, "@PAIRED@", dispatch("paired", "(task, step, cycles)", true, true));
  replace(kernels, "@WARM@", dispatch("warm", "(task, step, cycles)", true));
  text.raw(kernels);
  return text.take();
}

}  // namespace gputopo::hip
