// The kernels that run chase programs. What the timing depends on, and a test checks in the machine code where it can:
// - A load is predicated on the clock value read before it, so it cannot move above that reading, and the second
// reading
//   stands behind a branch on the loaded value, so it cannot move above the arrival of the data. Without the branch
//   ptxas moves it: dependences that it can fold away do not hold it. Both readings are of %clock64 and all its bits
//   are used, because ptxas reads %clock in two ways of different cost.
// - The loops are not unrolled by the compiler, and each is passed through once with its loads off, so that the pass
// that
//   counts finds its code in the instruction cache.
// - No address comes from constant memory within a step (no jump table, no parameter).
// - Descriptors are read with ld.global.cg and written with st.global.cg, which leave L1 alone.
#include <bit>
#include <cstddef>
#include <span>
#include <vector>

#include "device/cuda/kernel_layout.h"
#include "device/cuda/ptx_text.h"

namespace gputopo::cuda {
namespace {

constexpr std::uint32_t kUnroll = 16;

static_assert(std::has_single_bit(kHistogramBinCycles) && std::has_single_bit(kStepCodes));

bool has_pointer_links(Space space) {
  return space == Space::kGlobal || space == Space::kGlobalBypassL1 || space == Space::kReadOnly;
}

// One dependent load of the chain, predicated: follows the link in %link (32 bits) or %pointer.
std::string follow(Space space, std::string_view predicate) {
  if (space == Space::kTexture) {
    return fmt::format("@{} tex.1d.v4.s32.s32 {{%link, %unused1, %unused2, %unused3}}, [%texture, {{%link}}];",
                       predicate);
  }
  if (has_pointer_links(space)) return fmt::format("@{} {}.u64 %pointer, [%pointer];", predicate, load_opcode(space));
  return fmt::format("@{} {}.u32 %link, [%link];", predicate, load_opcode(space));
}

void start_chain(PtxText& text, Space space) {
  if (has_pointer_links(space)) {
    text.line("mov.u64 %pointer, %start;");
  } else {
    text.line("cvt.u32.u64 %link, %start;");
    if (space == Space::kShared) text.line("add.u32 %link, %link, %copy_to;");
  }
}

// Leaves through STEP_ERROR when the last link was none, and holds what follows back until that link has arrived.
void wait_for_link(PtxText& text, Space space) {
  if (has_pointer_links(space)) {
    text.line("setp.eq.u64 %lost, %pointer, 0;");
  } else {
    text.line("setp.eq.u32 %lost, %link, {};", kNoLink);
  }
  text.line("@%lost bra STEP_ERROR;");
}

// The dry pass, then the one that counts: sets %hot, which switches the loads on.
void begin_passes(PtxText& text, const std::string& name, std::uint32_t dry_loads) {
  text.line("mov.u32 %passes, %dry_passes;");
  text.line("{}_PASS:", name);
  text.line("setp.eq.u32 %hot, %passes, 0;");
  text.line("selp.u32 %todo, %loads, {}, %hot;", dry_loads);
}

void end_passes(PtxText& text, const std::string& name) {
  text.line("mov.u64 %time1, %clock64;");
  text.line("@%hot bra STEP_DONE;");
  text.line("sub.u32 %passes, %passes, 1;");
  text.line("bra {}_PASS;", name);
}

void warm_code(PtxText& text, const std::string& name, Space space) {
  text.line("{}:", name);
  begin_passes(text, name, kUnroll + 1);
  start_chain(text, space);
  text.line("and.b32 %rest, %todo, {};", kUnroll - 1);
  text.line("shr.u32 %todo, %todo, {};", std::countr_zero(kUnroll));
  text.line("mov.u64 %time0, %clock64;");
  text.line("setp.eq.u32 %done, %rest, 0;");
  text.line("@%done bra {}_REST_DONE;", name);
  text.line("{}_REST:", name);
  text.line(".pragma \"nounroll\";");
  text.line("{}", follow(space, "%hot"));
  text.line("sub.u32 %rest, %rest, 1;");
  text.line("setp.ne.u32 %more, %rest, 0;");
  text.line("@%more bra {}_REST;", name);
  text.line("{}_REST_DONE:", name);
  text.line("setp.eq.u32 %done, %todo, 0;");
  text.line("@%done bra {}_DONE;", name);
  text.line("{}_LOOP:", name);
  text.line(".pragma \"nounroll\";");
  for (std::uint32_t i = 0; i < kUnroll; ++i) text.line("{}", follow(space, "%hot"));
  text.line("sub.u32 %todo, %todo, 1;");
  text.line("setp.ne.u32 %more, %todo, 0;");
  text.line("@%more bra {}_LOOP;", name);
  text.line("{}_DONE:", name);
  wait_for_link(text, space);
  end_passes(text, name);
}

// A load of a link, predicated by %live, between two readings of the clock: %latency. `condition`: a predicate that it
// waits for.
void timed_load(PtxText& text, Space space, const std::string& load, std::string_view condition) {
  text.line("mov.u64 %stamp, %clock64;");
  text.line("cvt.u32.u64 %before, %stamp;");
  text.line("setp.ne.and.u32 %live, %before, %never, {};", condition);
  text.line("{}", load);
  wait_for_link(text, space);
  text.line("mov.u64 %wide, %clock64;");
  text.line("sub.u64 %wide, %wide, %stamp;");
  text.line("min.u64 %wide, %wide, {};", 0xffffffffu);
  text.line("cvt.u32.u64 %latency, %wide;");
}

// Counts %latency in the histogram, unless the loads are off.
void count_latency(PtxText& text) {
  text.line("shr.u32 %bin, %latency, {};", std::countr_zero(kHistogramBinCycles));
  text.line("min.u32 %bin, %bin, {};", kHistogramBins - 1);
  text.line("shl.b32 %bin, %bin, 2;");
  text.line("add.u32 %bin, %bin, %histogram;");
  text.line("ld.shared.u32 %count, [%bin];");
  text.line("add.u32 %count, %count, %increment;");
  text.line("st.shared.u32 [%bin], %count;");
}

// The loop of a step that counts: `begin` before the first element, `body` for each. %increment and %index are theirs.
template <typename Begin, typename Body>
void counting_loop(PtxText& text, const std::string& name, Space space, Begin begin, Body body) {
  text.line("{}:", name);
  begin_passes(text, name, 1);
  start_chain(text, space);
  text.line("selp.u32 %increment, 1, 0, %hot;");
  text.line("mov.u32 %index, 0;");
  begin();
  text.line("mov.u64 %time0, %clock64;");
  text.line("{}_LOOP:", name);
  text.line(".pragma \"nounroll\";");
  body();
  text.line("add.u32 %index, %index, 1;");
  text.line("setp.lt.u32 %more, %index, %todo;");
  text.line("@%more bra {}_LOOP;", name);
  end_passes(text, name);
}

void timed_code(PtxText& text, const std::string& name, Space space) {
  const auto begin = [&] {
    text.line("selp.u32 %keep_below, %cap, 0, %hot;");
    text.line("mov.u32 %slot, %latencies;");
  };
  counting_loop(text, name, space, begin, [&] {
    timed_load(text, space, follow(space, "%live"), "%hot");
    count_latency(text);
    text.line("setp.lt.u32 %keep, %index, %keep_below;");
    text.line("@%keep st.shared.u32 [%slot], %latency;");
    text.line("add.u32 %slot, %slot, 4;");
  });
}

// The same link is followed twice, and what counts is how much longer the first time took.
void paired_code(PtxText& text, const std::string& name, Space space) {
  const std::string load = fmt::format("@%live {}.u64 %pointer, [%previous];", load_opcode(space));
  counting_loop(
      text, name, space, [] {},
      [&] {
        text.line("mov.u64 %previous, %pointer;");
        timed_load(text, space, load, "%hot");
        text.line("add.u32 %half, %latency, {};", kPairedZeroCycles);
        // Or ptxas would compute that behind the second load, before its clock is read.
        text.line("setp.ne.and.u32 %more, %half, %never, %hot;");
        timed_load(text, space, load, "%more");
        text.line("min.u32 %latency, %latency, %half;");
        text.line("sub.u32 %latency, %half, %latency;");
        count_latency(text);
      });
}

// Every thread takes every ntid-th element.
void touch_code(PtxText& text, const std::string& name, Space space) {
  text.line("{}:", name);
  text.line("mov.u64 %time0, %clock64;");
  text.line("add.u32 %half, %loads, 1;");
  text.line("shr.u32 %half, %half, 1;");
  text.line("mov.u32 %index, %thread_id;");
  text.line("mov.u32 %sum, 0;");
  text.line("{}_LOOP:", name);
  text.line("setp.ge.u32 %done, %index, %loads;");
  text.line("@%done bra {}_DONE;", name);
  text.line("cvt.u64.u32 %wide, %index;");
  text.line("mad.lo.u64 %pointer, %wide, %stride, %base;");
  text.line("setp.ge.u32 %upper, %index, %half;");
  text.line("@%upper add.u64 %pointer, %pointer, %skew;");
  if (space == Space::kShared) {
    text.line("cvt.u64.u32 %wide, %copy_to;");
    text.line("add.u64 %pointer, %pointer, %wide;");
  }
  if (space == Space::kTexture) {
    text.line("shr.u64 %pointer, %pointer, 2;");
    text.line("cvt.u32.u64 %link, %pointer;");
    text.line("tex.1d.v4.s32.s32 {{%link, %unused1, %unused2, %unused3}}, [%texture, {{%link}}];");
  } else {
    text.line("{}.u32 %link, [%pointer];", load_opcode(space));
  }
  text.line("xor.b32 %sum, %sum, %link;");
  text.line("add.u32 %index, %index, %thread_count;");
  text.line("bra {}_LOOP;", name);
  text.line("{}_DONE:", name);
  text.line("setp.eq.u32 %more, %sum, %never;");
  text.line("@%more st.global.u32 [%result + {}], %sum;", offsetof(BlockRecord, sink));
  text.line("bra STEP_END;");
}

// Writes both links of each element: to the next one (%wide) and, of the other chain, to the one before (%previous).
void store_code(PtxText& text, const std::string& name, Space space) {
  const std::string_view opcode = space == Space::kGlobal ? "st.global.u64" : "st.global.cg.u64";
  text.line("{}:", name);
  begin_passes(text, name, 1);
  text.line("mov.u64 %pointer, %base;");
  text.line("sub.u32 %rest, %elements, 1;");
  text.line("cvt.u64.u32 %wide, %rest;");
  text.line("mad.lo.u64 %previous, %wide, %stride, %base;");
  text.line("mov.u32 %index, 0;");
  text.line("mov.u64 %time0, %clock64;");
  text.line("{}_LOOP:", name);
  text.line(".pragma \"nounroll\";");
  text.line("add.u32 %index, %index, 1;");
  text.line("setp.eq.u32 %done, %index, %elements;");
  text.line("add.u64 %wide, %pointer, %stride;");
  text.line("selp.u64 %wide, %base, %wide, %done;");
  text.line("add.u64 %previous, %previous, 8;");
  text.line("@%hot {} [%pointer], %wide;", opcode);
  text.line("@%hot {} [%pointer + 8], %previous;", opcode);
  text.line("mov.u64 %previous, %pointer;");
  text.line("mov.u64 %pointer, %wide;");
  text.line("setp.lt.u32 %more, %index, %todo;");
  text.line("@%more bra {}_LOOP;", name);
  end_passes(text, name);
}

void stamp(PtxText& text, std::size_t cycles_offset, std::size_t ns_offset) {
  text.line("mov.u64 %stamp, %globaltimer;");
  text.line("@%first_thread st.global.cg.u64 [%result + {}], %stamp;", ns_offset);
  text.line("mov.u64 %stamp, %clock64;");
  text.line("@%first_thread st.global.cg.u64 [%result + {}], %stamp;", cycles_offset);
}

// A loop in which all threads of the block go over `bytes` bytes, 4 a thread: `body` uses %offset.
template <typename Body>
void for_words(PtxText& text, const std::string& name, std::string_view bytes, Body body) {
  text.line("shl.b32 %offset, %thread_id, 2;");
  text.line("{}:", name);
  text.line("setp.ge.u32 %done, %offset, {};", bytes);
  text.line("@%done bra {}_DONE;", name);
  body();
  text.line("shl.b32 %link, %thread_count, 2;");
  text.line("add.u32 %offset, %offset, %link;");
  text.line("bra {};", name);
  text.line("{}_DONE:", name);
}

void flush_words(PtxText& text, const std::string& name, std::string_view bytes, std::string_view from,
                 std::string_view extra_offset) {
  for_words(text, name, bytes, [&] {
    text.line("add.u32 %link, {}, %offset;", from);
    text.line("ld.shared.u32 %count, [%link];");
    text.line("cvt.u64.u32 %wide, %offset;");
    text.line("add.u64 %wide, %wide, %step_result;");
    text.line("st.global.cg.u32 [%wide + {}], %count;", extra_offset);
  });
}

struct CodePath {
  std::uint32_t code;
  std::string name;
  void (*emit)(PtxText&, const std::string&, Space);
  Space space;
};

std::vector<CodePath> code_paths() {
  std::vector<CodePath> paths;
  for (const Space space : kCudaSpaces) {
    const auto code = [&](StepCode step) {
      return static_cast<std::uint32_t>(step) + kStepCodes * static_cast<std::uint32_t>(space);
    };
    const std::string suffix(to_string(space));
    paths.push_back({code(StepCode::kWarm), "WARM_" + suffix, warm_code, space});
    paths.push_back({code(StepCode::kTouch), "TOUCH_" + suffix, touch_code, space});
    paths.push_back({code(StepCode::kTimed), "TIMED_" + suffix, timed_code, space});
    if (!is_global(space)) continue;
    paths.push_back({code(StepCode::kStore), "STORE_" + suffix, store_code, space});
    paths.push_back({code(StepCode::kPaired), "PAIRED_" + suffix, paired_code, space});
  }
  return paths;
}

// Jumps to the path of %code, by halving: ptxas turns a row of comparisons into a jump table in constant memory, and
// reading that would put a line of its own into the constant caches.
void dispatch(PtxText& text, std::span<const CodePath> paths) {
  if (paths.size() == 1) {
    text.line("bra {};", paths[0].name);
    return;
  }
  const std::size_t middle = paths.size() / 2;
  const std::string label = fmt::format("FROM_{}", paths[middle].name);
  text.line("setp.ge.u32 %more, %code, {};", paths[middle].code);
  text.line("@%more bra {};", label);
  dispatch(text, paths.first(middle));
  text.line("{}:", label);
  dispatch(text, paths.subspan(middle));
}

// Where the steps are of several SMs: skips those of others, and waits until all steps before this one have ended. The
// reducing barriers tell ptxas that all threads go the same way.
void wait_for_turn(PtxText& text) {
  text.line("setp.ne.u64 %takes_turns, %turn, 0;");
  text.line("@!%takes_turns bra MY_TURN;");
  text.line("ld.global.cg.u32 %slot, [%step + {}];", offsetof(StepTask, slot));
  text.line("setp.ne.u32 %more, %slot, %own_slot;");
  text.line("bar.red.or.pred %more, 0, %more;");
  text.line("@%more bra NOT_MINE;");
  text.line("setp.ne.u32 %late, 0, 0;");
  text.line("@!%first_thread bra TURN_HAS_COME;");
  text.line("mov.u32 %before, %clock;");
  text.line("AWAIT_TURN:");
  text.line("ld.volatile.global.u32 %count, [%turn];");
  text.line("mov.u32 %after, %clock;");
  text.line("sub.u32 %after, %after, %before;");
  text.line("setp.ne.u32 %late, %count, %step_index;");
  text.line("setp.lt.and.u32 %more, %after, %longest_wait, %late;");
  text.line("@%more bra AWAIT_TURN;");
  text.line("TURN_HAS_COME:");
  text.line("bar.red.or.pred %late, 0, %late;");
  text.line("@%late bra NO_TURN;");
  text.line("MY_TURN:");
}

// All threads of the block have ended the step: what they loaded has been used. No fence, which would empty L1; what a
// step writes is what was there before.
void pass_turn_on(PtxText& text) {
  text.line("and.pred %more, %takes_turns, %first_thread;");
  text.line("add.u32 %count, %step_index, 1;");
  text.line("@%more st.volatile.global.u32 [%turn], %count;");
}

void chase_kernel(PtxText& text) {
  text.raw(R"(
.visible .entry chase(.param .u64 tasks, .param .u32 task_stride, .param .u32 task_count)
{
  .reg .pred %first_thread, %takes_turns, %late, %hot, %live, %lost, %done, %more, %keep, %upper, %is_timed, %other_sm, %taken;
  .reg .b32 %thread_id, %thread_count, %block, %sm, %wanted_sm, %old, %shared, %histogram, %latencies, %never, %dry_passes, %patience, %tasks_left, %own_slot, %longest_wait;
  .reg .b32 %step_index, %step_count, %code, %kind, %thread, %loads, %elements, %cap, %cap_bytes, %passes, %todo, %rest, %index, %slot;
  .reg .b32 %link, %unused1, %unused2, %unused3, %before, %after, %latency, %bin, %count, %keep_below, %increment, %half, %sum;
  .reg .b32 %offset, %copy_bytes, %copy_to, %stride32, %zero32;
  .reg .b64 %task, %result, %step, %step_result, %image, %pointer, %previous, %start, %base, %texture, %stride, %skew, %time0, %time1;
  .reg .b64 %stamp, %wide, %window, %turn, %own_task;
  ld.param.u64 %task, [tasks];
  ld.param.u32 %stride32, [task_stride];
  ld.param.u32 %tasks_left, [task_count];
  cvta.to.global.u64 %task, %task;
  mov.u32 %thread_id, %tid.x;
  mov.u32 %thread_count, %ntid.x;
  mov.u32 %block, %ctaid.x;
  mov.u32 %sm, %smid;
  setp.eq.u32 %first_thread, %thread_id, 0;
  mov.u32 %shared, dynamic_shared;
  mul.wide.u32 %wide, %block, %stride32;
  add.u64 %task, %task, %wide;
)");
  const auto load32 = [&](std::string_view reg, std::string_view base, std::size_t offset) {
    text.line("ld.global.cg.u32 {}, [{} + {}];", reg, base, offset);
  };
  const auto load64 = [&](std::string_view reg, std::string_view base, std::size_t offset) {
    text.line("ld.global.cg.u64 {}, [{} + {}];", reg, base, offset);
  };
  // Tasks of several SMs differ in whose they are and where its record lies; the one that names this SM is looked for.
  // The rest is loaded from the first, from an address that ptxas knows to be the same for all threads: it would guard
  // the use of a texture that may be another for each of them, within the timed loop.
  text.line("mov.u64 %own_task, %task;");
  text.line("FIND_TASK:");
  load32("%wanted_sm", "%own_task", offsetof(ChaseTask, wanted_sm));
  text.line("setp.ne.u32 %other_sm, %wanted_sm, {};", kAnySm);
  text.line("setp.ne.and.u32 %other_sm, %wanted_sm, %sm, %other_sm;");
  text.line("sub.u32 %tasks_left, %tasks_left, 1;");
  text.line("setp.ne.and.u32 %more, %tasks_left, 0, %other_sm;");
  text.line("@%more add.u64 %own_task, %own_task, {};", sizeof(ChaseTask));
  text.line("@%more bra FIND_TASK;");
  load64("%result", "%own_task", offsetof(ChaseTask, result));
  load32("%own_slot", "%own_task", offsetof(ChaseTask, slot));
  load64("%step", "%task", offsetof(ChaseTask, steps));
  load64("%image", "%task", offsetof(ChaseTask, shared_image));
  load32("%copy_bytes", "%task", offsetof(ChaseTask, shared_bytes));
  load32("%copy_to", "%task", offsetof(ChaseTask, shared_offset));
  load32("%latencies", "%task", offsetof(ChaseTask, latency_offset));
  load32("%step_count", "%task", offsetof(ChaseTask, step_count));
  load64("%turn", "%task", offsetof(ChaseTask, turn));
  load32("%longest_wait", "%task", offsetof(ChaseTask, longest_wait_cycles));
  load32("%never", "%task", offsetof(ChaseTask, never));
  load32("%dry_passes", "%task", offsetof(ChaseTask, dry_passes));
  load32("%zero32", "%task", offsetof(ChaseTask, zero));
  load32("%patience", "%task", offsetof(ChaseTask, patience_cycles));
  // Keeps ptxas from computing the address of shared memory anew, from a special register, within the timed loops.
  text.line("add.u32 %shared, %shared, %zero32;");
  text.line("@%other_sm bra WRONG_SM;");
  // The first block to arrive takes the program; on the wanted SM there may be a second.
  text.line("mov.u32 %old, 0;");
  text.line("@%first_thread atom.global.exch.b32 %old, [%result + {}], 1;", offsetof(BlockRecord, claimed));
  text.line("@%first_thread st.shared.u32 [%shared], %old;");
  text.line("bar.sync 0;");
  text.line("ld.shared.u32 %old, [%shared];");
  text.line("bar.sync 0;");
  text.line("setp.ne.u32 %taken, %old, 0;");
  text.line("@%taken bra EXIT;");
  text.line("mov.u32 %histogram, %shared;");
  text.line("add.u32 %latencies, %latencies, %shared;");
  text.line("add.u32 %copy_to, %copy_to, %shared;");
  // Links in constant memory are offsets from the start of the constant window, where the only constant array must lie.
  text.line("mov.u64 %window, constant_bank;");
  text.line("setp.ne.u64 %lost, %window, 0;");
  text.line("mov.u32 %step_index, 0;");
  text.line("@%lost bra REPORT_ERROR;");
  stamp(text, offsetof(BlockRecord, start_cycles), offsetof(BlockRecord, start_ns));
  text.line("@%first_thread st.global.cg.u32 [%result + {}], %sm;", offsetof(BlockRecord, sm));
  for_words(text, "COPY", "%copy_bytes", [&] {
    text.line("cvt.u64.u32 %wide, %offset;");
    text.line("add.u64 %wide, %wide, %image;");
    text.line("ld.global.cg.u32 %count, [%wide];");
    text.line("add.u32 %count, %count, %copy_to;");
    text.line("add.u32 %link, %copy_to, %offset;");
    text.line("st.shared.u32 [%link], %count;");
  });

  text.line("NEXT_STEP:");
  text.line("setp.ge.u32 %done, %step_index, %step_count;");
  text.line("@%done bra FINISH;");
  wait_for_turn(text);
  load64("%start", "%step", offsetof(StepTask, start));
  load64("%base", "%step", offsetof(StepTask, base));
  load64("%texture", "%step", offsetof(StepTask, texture));
  load64("%stride", "%step", offsetof(StepTask, stride_bytes));
  load64("%skew", "%step", offsetof(StepTask, skew_bytes));
  load64("%step_result", "%step", offsetof(StepTask, result));
  load32("%code", "%step", offsetof(StepTask, code));
  load32("%thread", "%step", offsetof(StepTask, thread));
  load32("%loads", "%step", offsetof(StepTask, loads));
  load32("%cap", "%step", offsetof(StepTask, cap));
  load32("%elements", "%step", offsetof(StepTask, elements));
  text.line("and.b32 %kind, %code, {};", kStepCodes - 1);
  text.line("setp.eq.u32 %more, %kind, {};", static_cast<std::uint32_t>(StepCode::kPaired));
  text.line("setp.eq.or.u32 %is_timed, %kind, {}, %more;", static_cast<std::uint32_t>(StepCode::kTimed));
  text.line("@!%is_timed bra READY;");
  for_words(text, "ZERO", fmt::format("{}", kHistogramBytes), [&] {
    text.line("add.u32 %link, %histogram, %offset;");
    text.line("st.shared.u32 [%link], %zero32;");
  });
  text.line("READY:");
  text.line("bar.sync 0;");
  text.line("setp.eq.u32 %more, %kind, {};", static_cast<std::uint32_t>(StepCode::kTouch));
  text.line("@%more bra DISPATCH;");
  text.line("setp.ne.u32 %more, %thread_id, %thread;");
  text.line("@%more bra STEP_END;");
  text.line("DISPATCH:");
  const std::vector<CodePath> paths = code_paths();
  dispatch(text, paths);
  for (const CodePath& path : paths) path.emit(text, path.name, path.space);

  text.line("STEP_ERROR:");
  text.line("add.u32 %count, %step_index, 1;");
  text.line("st.global.cg.u32 [%result + {}], %count;", offsetof(BlockRecord, error));
  text.line("bra STEP_END;");
  text.line("STEP_DONE:");
  text.line("sub.u64 %time1, %time1, %time0;");
  text.line("st.global.cg.u64 [%step_result + {}], %time1;", offsetof(StepRecord, cycles));
  text.line("STEP_END:");
  text.line("bar.sync 0;");
  // A touch has ended when all threads have.
  text.line("mov.u64 %time1, %clock64;");
  text.line("sub.u64 %time1, %time1, %time0;");
  text.line("setp.eq.and.u32 %more, %kind, {}, %first_thread;", static_cast<std::uint32_t>(StepCode::kTouch));
  text.line("@%more st.global.cg.u64 [%step_result + {}], %time1;", offsetof(StepRecord, cycles));
  text.line("@!%is_timed bra FLUSHED;");
  flush_words(text, "FLUSH_HISTOGRAM", fmt::format("{}", kHistogramBytes), "%histogram",
              fmt::format("{}", sizeof(StepRecord)));
  text.line("shl.b32 %cap_bytes, %cap, 2;");
  flush_words(text, "FLUSH_LATENCIES", "%cap_bytes", "%latencies",
              fmt::format("{}", sizeof(StepRecord) + kHistogramBytes));
  text.line("bar.sync 0;");
  text.line("FLUSHED:");
  pass_turn_on(text);
  text.line("NOT_MINE:");
  text.line("add.u64 %step, %step, {};", sizeof(StepTask));
  text.line("add.u32 %step_index, %step_index, 1;");
  text.line("bra NEXT_STEP;");

  text.line("REPORT_ERROR:");
  text.line("@%first_thread st.global.cg.u32 [%result + {}], {};", offsetof(BlockRecord, error), kNoLink);
  text.line("bra FINISH;");
  text.line("NO_TURN:");
  text.line("@%first_thread st.global.cg.u32 [%result + {}], {};", offsetof(BlockRecord, error), kNoTurn);
  text.line("FINISH:");
  stamp(text, offsetof(BlockRecord, end_cycles), offsetof(BlockRecord, end_ns));
  text.line("bra EXIT;");
  text.line("WRONG_SM:");
  text.line("mov.u32 %before, %clock;");
  text.line("WAIT:");
  text.line("mov.u32 %after, %clock;");
  text.line("sub.u32 %after, %after, %before;");
  text.line("setp.lt.u32 %more, %after, %patience;");
  text.line("@%more bra WAIT;");
  text.line("EXIT:");
  text.line("ret;");
  text.line("}}");
}

// Writes the links of the arrays: blockIdx.y is the array, the threads of its blocks share the elements.
void fill_kernel(PtxText& text) {
  text.raw(R"(
.visible .entry fill(.param .u64 tasks)
{
  .reg .pred %done, %more, %upper, %is_pointer, %is_texel;
  .reg .b32 %r0, %r1, %index, %next, %step, %count, %half, %form, %chain, %reversed, %element, %value32;
  .reg .b64 %task, %address, %link_base, %stride, %skew, %stagger, %stagger_mask, %table, %chain_bytes, %wide, %place, %value, %entry;
  ld.param.u64 %task, [tasks];
  cvta.to.global.u64 %task, %task;
  mov.u32 %r0, %ctaid.y;
)");
  text.line("mul.wide.u32 %wide, %r0, {};", sizeof(FillTask));
  text.line("add.u64 %task, %task, %wide;");
  text.line("ld.global.u64 %address, [%task + {}];", offsetof(FillTask, address));
  text.line("ld.global.u64 %link_base, [%task + {}];", offsetof(FillTask, link_base));
  text.line("ld.global.u64 %stride, [%task + {}];", offsetof(FillTask, stride_bytes));
  text.line("ld.global.u64 %skew, [%task + {}];", offsetof(FillTask, skew_bytes));
  text.line("ld.global.u64 %stagger, [%task + {}];", offsetof(FillTask, stagger_bytes));
  text.line("ld.global.u64 %stagger_mask, [%task + {}];", offsetof(FillTask, stagger_mask));
  text.line("ld.global.u32 %count, [%task + {}];", offsetof(FillTask, count));
  text.line("ld.global.u32 %form, [%task + {}];", offsetof(FillTask, form));
  text.line("setp.eq.u32 %is_pointer, %form, {};", static_cast<std::uint32_t>(LinkForm::kPointer));
  text.line("setp.eq.u32 %is_texel, %form, {};", static_cast<std::uint32_t>(LinkForm::kTexel));
  text.raw(R"(
  add.u32 %half, %count, 1;
  shr.u32 %half, %half, 1;
  mov.u32 %r0, %nctaid.x;
  mov.u32 %r1, %ntid.x;
  mul.lo.u32 %step, %r0, %r1;
  mov.u32 %chain, 0;
NEXT_CHAIN:
  mul.wide.u32 %wide, %chain, 8;
  mov.u64 %chain_bytes, %wide;
  add.u64 %wide, %wide, %task;
)");
  text.line("ld.global.u64 %table, [%wide + {}];", offsetof(FillTask, tables));
  text.line("mul.wide.u32 %wide, %chain, 4;");
  text.line("add.u64 %wide, %wide, %task;");
  text.line("ld.global.u32 %reversed, [%wide + {}];", offsetof(FillTask, reversed));
  text.raw(R"(
  mov.u32 %r0, %ctaid.x;
  mov.u32 %index, %tid.x;
  mad.lo.u32 %index, %r0, %r1, %index;
ELEMENTS:
  setp.ge.u32 %done, %index, %count;
  @%done bra ELEMENTS_DONE;
  add.u32 %next, %index, 1;
  setp.eq.u32 %more, %next, %count;
  selp.u32 %next, 0, %next, %more;
)");
  // %place: offset of the index-th element of the order; %value: of the next one.
  const auto offset_of = [&](std::string_view name, std::string_view position, std::string_view into) {
    text.line("mov.u32 %element, {};", position);
    text.line("setp.eq.u32 %more, %reversed, 0;");
    text.line("@%more bra {}_FORWARD;", name);
    text.line("sub.u32 %element, %count, {};", position);
    text.line("sub.u32 %element, %element, 1;");
    text.line("{}_FORWARD:", name);
    text.line("setp.eq.u64 %more, %table, 0;");
    text.line("@%more bra {}_FOUND;", name);
    text.line("mul.wide.u32 %entry, {}, 4;", position);
    text.line("add.u64 %entry, %entry, %table;");
    text.line("ld.global.u32 %element, [%entry];");
    text.line("{}_FOUND:", name);
    text.line("cvt.u64.u32 %wide, %element;");
    text.line("mad.lo.u64 {}, %wide, %stride, %chain_bytes;", into);
    text.line("setp.ge.u32 %upper, %element, %half;");
    text.line("@%upper add.u64 {}, {}, %skew;", into, into);
    text.line("mul.lo.u64 %wide, %wide, %stagger;");
    text.line("and.b64 %wide, %wide, %stagger_mask;");
    text.line("add.u64 {}, {}, %wide;", into, into);
  };
  offset_of("PLACE", "%index", "%place");
  offset_of("VALUE", "%next", "%value");
  text.raw(R"(
  add.u64 %place, %place, %address;
  add.u64 %value, %value, %link_base;
  @%is_texel shr.u64 %value, %value, 2;
  cvt.u32.u64 %value32, %value;
  @%is_pointer st.global.u64 [%place], %value;
  @!%is_pointer st.global.u32 [%place], %value32;
  add.u32 %index, %index, %step;
  bra ELEMENTS;
ELEMENTS_DONE:
  add.u32 %chain, %chain, 1;
  setp.lt.u32 %more, %chain, 2;
  @%more bra NEXT_CHAIN;
  ret;
}
)");
}

// Keeps every SM busy for `duration` ns and records cycles and time of the first block: wakes the clocks and measures
// them.
void spin_kernel(PtxText& text) {
  text.raw(R"(
.visible .entry spin(.param .u64 record, .param .u64 duration)
{
  .reg .pred %more, %first;
  .reg .b32 %block, %thread_id;
  .reg .b64 %result, %duration, %start_ns, %now_ns, %start_cycles, %now_cycles;
  ld.param.u64 %result, [record];
  cvta.to.global.u64 %result, %result;
  ld.param.u64 %duration, [duration];
  mov.u32 %block, %ctaid.x;
  mov.u32 %thread_id, %tid.x;
  or.b32 %block, %block, %thread_id;
  setp.eq.u32 %first, %block, 0;
  mov.u64 %start_ns, %globaltimer;
  mov.u64 %start_cycles, %clock64;
SPIN:
  mov.u64 %now_ns, %globaltimer;
  mov.u64 %now_cycles, %clock64;
  sub.u64 %now_ns, %now_ns, %start_ns;
  setp.lt.u64 %more, %now_ns, %duration;
  @%more bra SPIN;
  add.u64 %now_ns, %now_ns, %start_ns;
)");
  text.line("@%first st.global.u64 [%result + {}], %start_cycles;", offsetof(BlockRecord, start_cycles));
  text.line("@%first st.global.u64 [%result + {}], %now_cycles;", offsetof(BlockRecord, end_cycles));
  text.line("@%first st.global.u64 [%result + {}], %start_ns;", offsetof(BlockRecord, start_ns));
  text.line("@%first st.global.u64 [%result + {}], %now_ns;", offsetof(BlockRecord, end_ns));
  text.line("ret;");
  text.line("}}");
}

}  // namespace

std::string generate_chase_ptx(const PtxTarget& target) {
  PtxText text;
  text.raw(module_header(target));
  fill_kernel(text);
  chase_kernel(text);
  spin_kernel(text);
  return text.take();
}

}  // namespace gputopo::cuda
