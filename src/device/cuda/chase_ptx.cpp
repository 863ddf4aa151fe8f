#include "device/cuda/chase_ptx.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <span>

#include "device/cuda/chase_steps_ptx.h"
#include "device/cuda/fill_ptx.h"
#include "device/cuda/kernel_layout.h"

namespace gputopo::cuda {
namespace {

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

// Jumps to the path of %code, by halving: ptxas turns a row of comparisons into a jump table in constant memory, and
// reading that would put a line of its own into the constant caches.
void dispatch(PtxText& text, std::span<const CodePath> paths) {
  if (paths.size() == 1) {
    text.line("bra {};", paths[0].label);
    return;
  }
  const std::size_t middle = paths.size() / 2;
  const std::string label = fmt::format("FROM_{}", paths[middle].label);
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

void load32(PtxText& text, std::string_view reg, std::string_view base, std::size_t offset) {
  text.line("ld.global.cg.u32 {}, [{} + {}];", reg, base, offset);
}

void load64(PtxText& text, std::string_view reg, std::string_view base, std::size_t offset) {
  text.line("ld.global.cg.u64 {}, [{} + {}];", reg, base, offset);
}

// `frame_bytes` of local memory for each thread.
void prologue(PtxText& text, std::uint64_t frame_bytes) {
  text.raw(R"(
.visible .entry chase(.param .u64 tasks, .param .u32 task_stride, .param .u32 task_count)
{
  .reg .pred %first_thread, %takes_turns, %late, %hot, %live, %lost, %done, %more, %keep, %upper, %is_timed, %other_sm, %taken;
  .reg .b32 %thread_id, %thread_count, %block, %sm, %wanted_sm, %old, %shared, %histogram, %latencies, %never, %dry_passes, %patience, %tasks_left, %own_slot, %longest_wait;
  .reg .b32 %step_index, %step_count, %code, %kind, %thread, %loads, %elements, %cap, %cap_bytes, %passes, %todo, %rest, %index, %slot;
  .reg .b32 %link, %unused1, %unused2, %unused3, %before, %after, %latency, %bin, %count, %keep_below, %increment, %half, %sum, %element;
  .reg .b32 %offset, %copy_bytes, %copy_to, %stride32, %zero32;
  .reg .b64 %task, %result, %step, %step_result, %image, %pointer, %previous, %start, %base, %texture, %stride, %skew, %stagger, %stagger_mask, %table, %time0, %time1;
  .reg .b64 %stamp, %wide, %window, %turn, %own_task;
)");
  if (frame_bytes > 0) {
    text.line(".local .align 4 .b8 local_frame[{}];", frame_bytes);
    text.line(".reg .b32 %local, %local_count;");
    text.line(".reg .b64 %local_image, %local_words;");
  }
  text.raw(R"(
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
}

// Tasks of several SMs differ in whose they are and where its record lies; the one that names this SM is looked for.
// The rest is loaded from the first, from an address that ptxas knows to be the same for all threads: it would guard
// the use of a texture that may be another for each of them, within the timed loop.
void load_task(PtxText& text) {
  text.line("mov.u64 %own_task, %task;");
  text.line("FIND_TASK:");
  load32(text, "%wanted_sm", "%own_task", offsetof(ChaseTask, wanted_sm));
  text.line("setp.ne.u32 %other_sm, %wanted_sm, {};", kAnySm);
  text.line("setp.ne.and.u32 %other_sm, %wanted_sm, %sm, %other_sm;");
  text.line("sub.u32 %tasks_left, %tasks_left, 1;");
  text.line("setp.ne.and.u32 %more, %tasks_left, 0, %other_sm;");
  text.line("@%more add.u64 %own_task, %own_task, {};", sizeof(ChaseTask));
  text.line("@%more bra FIND_TASK;");
  load64(text, "%result", "%own_task", offsetof(ChaseTask, result));
  load32(text, "%own_slot", "%own_task", offsetof(ChaseTask, slot));
  load64(text, "%step", "%task", offsetof(ChaseTask, steps));
  load64(text, "%image", "%task", offsetof(ChaseTask, shared_image));
  load32(text, "%copy_bytes", "%task", offsetof(ChaseTask, shared_bytes));
  load32(text, "%copy_to", "%task", offsetof(ChaseTask, shared_offset));
  load32(text, "%latencies", "%task", offsetof(ChaseTask, latency_offset));
  load32(text, "%step_count", "%task", offsetof(ChaseTask, step_count));
  load64(text, "%turn", "%task", offsetof(ChaseTask, turn));
  load32(text, "%longest_wait", "%task", offsetof(ChaseTask, longest_wait_cycles));
  load32(text, "%never", "%task", offsetof(ChaseTask, never));
  load32(text, "%dry_passes", "%task", offsetof(ChaseTask, dry_passes));
  load32(text, "%zero32", "%task", offsetof(ChaseTask, zero));
  load32(text, "%patience", "%task", offsetof(ChaseTask, patience_cycles));
  // Keeps ptxas from computing the address of shared memory anew, from a special register, within the timed loops.
  text.line("add.u32 %shared, %shared, %zero32;");
}

// Leaves through WRONG_SM or EXIT where the program is not this block's: the first block to arrive takes it, and on the
// wanted SM there may be a second.
void claim_task(PtxText& text) {
  text.line("@%other_sm bra WRONG_SM;");
  text.line("mov.u32 %old, 0;");
  text.line("@%first_thread atom.global.exch.b32 %old, [%result + {}], 1;", offsetof(BlockRecord, claimed));
  text.line("@%first_thread st.shared.u32 [%shared], %old;");
  text.line("bar.sync 0;");
  text.line("ld.shared.u32 %old, [%shared];");
  text.line("bar.sync 0;");
  text.line("setp.ne.u32 %taken, %old, 0;");
  text.line("@%taken bra EXIT;");
}

// Each thread writes the links of its lane's chain to its own words.
void write_local_links(PtxText& text) {
  load64(text, "%local_image", "%task", offsetof(ChaseTask, local_image));
  load64(text, "%local_words", "%task", offsetof(ChaseTask, local_words));
  load32(text, "%local_count", "%task", offsetof(ChaseTask, local_count));
  // As with shared memory: not to be computed anew within the timed loops.
  text.line("mov.u32 %local, local_frame;");
  text.line("add.u32 %local, %local, %zero32;");
  text.line("and.b32 %link, %thread_id, 1;");
  text.line("mul.wide.u32 %wide, %link, {};", sizeof(std::uint64_t));
  text.line("add.u64 %local_image, %local_image, %wide;");
  text.line("LOCAL_LINKS:");
  text.line("setp.eq.u32 %done, %local_count, 0;");
  text.line("@%done bra LOCAL_LINKS_DONE;");
  text.line("ld.global.cg.u32 %index, [%local_words];");
  text.line("mul.wide.u32 %wide, %index, {};", kLocalStrideBytes);
  text.line("add.u64 %wide, %wide, %local_image;");
  text.line("ld.global.cg.u32 %count, [%wide];");
  text.line("add.u32 %count, %count, %local;");
  text.line("shl.b32 %link, %index, 2;");
  text.line("add.u32 %link, %link, %local;");
  text.line("st.local.u32 [%link], %count;");
  text.line("add.u64 %local_words, %local_words, {};", sizeof(std::uint32_t));
  text.line("sub.u32 %local_count, %local_count, 1;");
  text.line("bra LOCAL_LINKS;");
  text.line("LOCAL_LINKS_DONE:");
}

void begin_program(PtxText& text) {
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
}

// The step's fields to registers, and its histogram to zeros.
void load_step(PtxText& text) {
  load64(text, "%start", "%step", offsetof(StepTask, start));
  load64(text, "%base", "%step", offsetof(StepTask, base));
  load64(text, "%texture", "%step", offsetof(StepTask, texture));
  load64(text, "%stride", "%step", offsetof(StepTask, stride_bytes));
  load64(text, "%skew", "%step", offsetof(StepTask, skew_bytes));
  load64(text, "%stagger", "%step", offsetof(StepTask, stagger_bytes));
  load64(text, "%stagger_mask", "%step", offsetof(StepTask, stagger_mask));
  load64(text, "%table", "%step", offsetof(StepTask, table));
  load64(text, "%step_result", "%step", offsetof(StepTask, result));
  load32(text, "%code", "%step", offsetof(StepTask, code));
  load32(text, "%thread", "%step", offsetof(StepTask, thread));
  load32(text, "%loads", "%step", offsetof(StepTask, loads));
  load32(text, "%cap", "%step", offsetof(StepTask, cap));
  load32(text, "%elements", "%step", offsetof(StepTask, elements));
  text.line("and.b32 %kind, %code, {};", kStepCodes - 1);
  text.line("setp.eq.u32 %more, %kind, {};", static_cast<std::uint32_t>(StepCode::kPaired));
  text.line("setp.eq.or.u32 %more, %kind, {}, %more;", static_cast<std::uint32_t>(StepCode::kAtomic));
  text.line("setp.eq.or.u32 %is_timed, %kind, {}, %more;", static_cast<std::uint32_t>(StepCode::kTimed));
  text.line("@!%is_timed bra READY;");
  for_words(text, "ZERO", fmt::format("{}", kHistogramBytes), [&] {
    text.line("add.u32 %link, %histogram, %offset;");
    text.line("st.shared.u32 [%link], %zero32;");
  });
  text.line("READY:");
  text.line("bar.sync 0;");
}

// A touch is all threads', another step that of one.
void run_step(PtxText& text, bool has_local) {
  text.line("setp.eq.u32 %more, %kind, {};", static_cast<std::uint32_t>(StepCode::kTouch));
  text.line("@%more bra DISPATCH;");
  text.line("setp.ne.u32 %more, %thread_id, %thread;");
  text.line("@%more bra STEP_END;");
  text.line("DISPATCH:");
  const std::vector<CodePath> paths = code_paths(has_local);
  dispatch(text, paths);
  for (const CodePath& path : paths) path.emit(text, path.label, path.space);
  text.line("STEP_ERROR:");
  text.line("add.u32 %count, %step_index, 1;");
  text.line("st.global.cg.u32 [%result + {}], %count;", offsetof(BlockRecord, error));
  text.line("bra STEP_END;");
  text.line("STEP_DONE:");
  text.line("sub.u64 %time1, %time1, %time0;");
  text.line("st.global.cg.u64 [%step_result + {}], %time1;", offsetof(StepRecord, cycles));
}

// Brings what was kept in shared memory to the step's record.
void end_step(PtxText& text) {
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
}

void chase_epilogue(PtxText& text) {
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

void chase_kernel(PtxText& text, std::uint64_t frame_bytes = 0) {
  prologue(text, frame_bytes);
  load_task(text);
  claim_task(text);
  begin_program(text);
  if (frame_bytes > 0) write_local_links(text);
  text.line("NEXT_STEP:");
  text.line("setp.ge.u32 %done, %step_index, %step_count;");
  text.line("@%done bra FINISH;");
  wait_for_turn(text);
  load_step(text);
  run_step(text, frame_bytes > 0);
  end_step(text);
  pass_turn_on(text);
  text.line("NOT_MINE:");
  text.line("add.u64 %step, %step, {};", sizeof(StepTask));
  text.line("add.u32 %step_index, %step_index, 1;");
  text.line("bra NEXT_STEP;");
  chase_epilogue(text);
}

}  // namespace

std::string generate_chase_ptx(const PtxTarget& target) {
  PtxText text(target);
  text.raw(module_header(target));
  fill_kernel(text);
  chase_kernel(text);
  spin_kernel(text);
  return text.take();
}

std::string generate_local_chase_ptx(const PtxTarget& target, std::uint64_t frame_bytes) {
  PtxText text(target);
  text.raw(module_header(target));
  chase_kernel(text, frame_bytes);
  return text.take();
}

std::uint64_t local_frame_bytes(std::uint64_t local_bytes) {
  // A module less for the sizes that take little.
  constexpr std::uint64_t kSmallest = 64 << 10;
  return std::bit_ceil(std::max(local_bytes, kSmallest)) / kLocalLanes;
}

}  // namespace gputopo::cuda
