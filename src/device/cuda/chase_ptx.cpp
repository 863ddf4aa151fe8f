#include "device/cuda/chase_ptx.h"

#include <algorithm>
#include <bit>
#include <span>

#include "device/cuda/chase_steps_ptx.h"
#include "device/cuda/fill_ptx.h"
#include "device/cuda/kernel_layout.h"

namespace gputopo::cuda {
namespace {

// All threads of the block loop over `bytes` bytes, 4 bytes each. `body` uses %offset.
void for_words(PtxText& text, std::string_view name, std::string_view bytes, std::string_view body,
               std::uint64_t record_offset = 0) {
  text.add(R"(shl.b32 %offset, %thread_id, 2;
{name}:
setp.ge.u32 %done, %offset, {bytes};
@%done bra {name}_DONE;
{body}
shl.b32 %link, %thread_count, 2;
add.u32 %offset, %offset, %link;
bra {name};
{name}_DONE:)",
           {{"name", name},
            {"bytes", bytes},
            {"body", body},
            {"histogram_bytes", kHistogramBytes},
            {"record_offset", record_offset}});
}

// Jumps to the path of %code by binary search. ptxas turns a row of comparisons into a jump table in constant memory,
// and reading that would put a line of its own into the constant caches.
void dispatch(PtxText& text, std::span<const CodePath> paths) {
  if (paths.size() == 1) {
    text.line("bra {};", paths[0].label);
    return;
  }
  const std::size_t middle = paths.size() / 2;
  text.line("setp.ge.u32 %more, %code, {};\n@%more bra FROM_{};", paths[middle].code, paths[middle].label);
  dispatch(text, paths.first(middle));
  text.line("FROM_{}:", paths[middle].label);
  dispatch(text, paths.subspan(middle));
}

// For steps on several SMs: skips the steps of other SMs, and waits until all steps before this one have ended. The
// reduction barriers tell ptxas that all threads take the same branch.
constexpr std::string_view kWaitForTurn = R"(NEXT_STEP:
setp.ge.u32 %done, %step_index, %step_count;
@%done bra FINISH;
setp.ne.u64 %takes_turns, %turn, 0;
@!%takes_turns bra MY_TURN;
ld.global.cg.u32 %slot, [%step + {StepTask.slot}];
setp.ne.u32 %more, %slot, %own_slot;
bar.red.or.pred %more, 0, %more;
@%more bra NOT_MINE;
setp.ne.u32 %late, 0, 0;
@!%first_thread bra TURN_HAS_COME;
mov.u32 %before, %clock;
AWAIT_TURN:
ld.volatile.global.u32 %count, [%turn];
mov.u32 %after, %clock;
sub.u32 %after, %after, %before;
setp.ne.u32 %late, %count, %step_index;
setp.lt.and.u32 %more, %after, %longest_wait, %late;
@%more bra AWAIT_TURN;
TURN_HAS_COME:
bar.red.or.pred %late, 0, %late;
@%late bra NO_TURN;
MY_TURN:)";

// Passes the turn on once all threads of the block have ended the step and used what they loaded. A fence would empty
// L1; none is needed, because a step writes only the values that were there before.
constexpr std::string_view kGoOn = R"(and.pred %more, %takes_turns, %first_thread;
add.u32 %count, %step_index, 1;
@%more st.volatile.global.u32 [%turn], %count;
NOT_MINE:
add.u64 %step, %step, {StepTask};
add.u32 %step_index, %step_index, 1;
bra NEXT_STEP;
REPORT_ERROR:
@%first_thread st.global.cg.u32 [%result + {BlockRecord.error}], {no_link};
bra FINISH;
NO_TURN:
@%first_thread st.global.cg.u32 [%result + {BlockRecord.error}], {no_turn};
FINISH:)";

// `frame_bytes`: local memory of each thread.
void prologue(PtxText& text, std::uint64_t frame_bytes) {
  text.add(R"(
.visible .entry chase(.param .u64 tasks, .param .u32 task_stride, .param .u32 task_count)
{
  .reg .pred %first_thread, %takes_turns, %late, %hot, %live, %lost, %done, %more, %keep, %upper, %is_timed, %other_sm, %taken;
  .reg .b32 %thread_id, %thread_count, %block, %sm, %wanted_sm, %old, %shared, %histogram, %latencies, %never, %dry_passes, %patience, %tasks_left, %own_slot, %longest_wait;
  .reg .b32 %step_index, %step_count, %code, %kind, %thread, %loads, %elements, %cap, %cap_bytes, %passes, %todo, %rest, %index, %slot;
  .reg .b32 %link, %unused1, %unused2, %unused3, %before, %after, %latency, %bin, %count, %keep_below, %increment, %half, %sum, %element;
  .reg .b32 %offset, %copy_bytes, %copy_to, %stride32, %zero32;
  .reg .b64 %task, %result, %step, %step_result, %image, %pointer, %previous, %start, %base, %texture, %stride, %skew, %stagger, %stagger_mask, %table, %time0, %time1;
  .reg .b64 %stamp, %wide, %window, %turn, %own_task;)");
  if (frame_bytes > 0) {
    text.add(R"(.local .align 4 .b8 local_frame[{frame_bytes}];
.reg .b32 %local, %local_count;
.reg .b64 %local_image, %local_words;)",
             {{"frame_bytes", frame_bytes}});
  }
  text.add(R"(
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
  add.u64 %task, %task, %wide;)");
}

// Tasks of several SMs differ only in their SM, their slot and the place of their record. This finds the task that
// names this SM. The other fields come from the first task, at an address that ptxas knows to be the same for all
// threads: otherwise it would guard, within the timed loop, the use of a texture that may differ between threads.
void load_task(PtxText& text) {
  text.add(R"(mov.u64 %own_task, %task;
FIND_TASK:
ld.global.cg.u32 %wanted_sm, [%own_task + {ChaseTask.wanted_sm}];
setp.ne.u32 %other_sm, %wanted_sm, {any_sm};
setp.ne.and.u32 %other_sm, %wanted_sm, %sm, %other_sm;
sub.u32 %tasks_left, %tasks_left, 1;
setp.ne.and.u32 %more, %tasks_left, 0, %other_sm;
@%more add.u64 %own_task, %own_task, {ChaseTask};
@%more bra FIND_TASK;)",
           {{"any_sm", kAnySm}});
  load_fields(text, "ld.global.cg", "%own_task", "ChaseTask", "result own_slot=slot");
  load_fields(text, "ld.global.cg", "%task", "ChaseTask",
              "step=steps image=shared_image copy_bytes=shared_bytes copy_to=shared_offset latencies=latency_offset "
              "step_count turn longest_wait=longest_wait_cycles never dry_passes zero32=zero patience=patience_cycles");
  // Keeps ptxas from recomputing the address of shared memory from a special register within the timed loops.
  text.add("add.u32 %shared, %shared, %zero32;");
}

// Each thread writes the links of its lane's chain to its own words. Adding %zero32 keeps ptxas from recomputing the
// address of local memory within the timed loops, as for shared memory.
void write_local_links(PtxText& text) {
  load_fields(text, "ld.global.cg", "%task", "ChaseTask", "local_image local_words local_count");
  text.add(R"(mov.u32 %local, local_frame;
add.u32 %local, %local, %zero32;
and.b32 %link, %thread_id, 1;
mul.wide.u32 %wide, %link, 8;
add.u64 %local_image, %local_image, %wide;
LOCAL_LINKS:
setp.eq.u32 %done, %local_count, 0;
@%done bra LOCAL_LINKS_DONE;
ld.global.cg.u32 %index, [%local_words];
mul.wide.u32 %wide, %index, {stride_bytes};
add.u64 %wide, %wide, %local_image;
ld.global.cg.u32 %count, [%wide];
add.u32 %count, %count, %local;
shl.b32 %link, %index, 2;
add.u32 %link, %link, %local;
st.local.u32 [%link], %count;
add.u64 %local_words, %local_words, 4;
sub.u32 %local_count, %local_count, 1;
bra LOCAL_LINKS;
LOCAL_LINKS_DONE:)",
           {{"stride_bytes", kLocalStrideBytes}});
}

// Links in constant memory are offsets from the start of the constant window. The only constant array must lie there.
void begin_program(PtxText& text) {
  text.add(R"(mov.u32 %histogram, %shared;
add.u32 %latencies, %latencies, %shared;
add.u32 %copy_to, %copy_to, %shared;
mov.u64 %window, constant_bank;
setp.ne.u64 %lost, %window, 0;
mov.u32 %step_index, 0;
@%lost bra REPORT_ERROR;)");
  stamp_clocks(text, "start", "%result", "st.global.cg");
  text.add("@%first_thread st.global.cg.u32 [%result + {BlockRecord.sm}], %sm;");
  for_words(text, "COPY", "%copy_bytes", R"(cvt.u64.u32 %wide, %offset;
add.u64 %wide, %wide, %image;
ld.global.cg.u32 %count, [%wide];
add.u32 %count, %count, %copy_to;
add.u32 %link, %copy_to, %offset;
st.shared.u32 [%link], %count;)");
}

// Loads the step's fields into registers and zeroes its histogram.
void load_step(PtxText& text, const PtxText::Values& codes) {
  load_fields(text, "ld.global.cg", "%step", "StepTask",
              "start base texture stride=stride_bytes skew=skew_bytes stagger=stagger_bytes stagger_mask table "
              "step_result=result code thread loads cap elements");
  text.add(R"(and.b32 %kind, %code, {kind_mask};
setp.eq.u32 %more, %kind, {paired};
setp.eq.or.u32 %more, %kind, {atomic}, %more;
setp.eq.or.u32 %is_timed, %kind, {timed}, %more;
@!%is_timed bra READY;)",
           codes);
  for_words(text, "ZERO", "{histogram_bytes}", "add.u32 %link, %histogram, %offset;\nst.shared.u32 [%link], %zero32;");
  text.add("READY:\nbar.sync 0;");
}

// All threads run a touch; one thread runs any other step.
void run_step(PtxText& text, bool has_local, const PtxText::Values& codes) {
  text.add(R"(setp.eq.u32 %more, %kind, {touch};
@%more bra DISPATCH;
setp.ne.u32 %more, %thread_id, %thread;
@%more bra STEP_END;
DISPATCH:)",
           codes);
  const std::vector<CodePath> paths = code_paths(has_local);
  dispatch(text, paths);
  for (const CodePath& path : paths) add_code_path(text, path);
  text.add(R"(STEP_ERROR:
add.u32 %count, %step_index, 1;
st.global.cg.u32 [%result + {BlockRecord.error}], %count;
bra STEP_END;
STEP_DONE:
sub.u64 %time1, %time1, %time0;
st.global.cg.u64 [%step_result + {StepRecord.cycles}], %time1;)");
}

// Ends a touch once all threads have ended it, and copies the results in shared memory to the step's record.
void end_step(PtxText& text, const PtxText::Values& codes) {
  text.add(R"(STEP_END:
bar.sync 0;
mov.u64 %time1, %clock64;
sub.u64 %time1, %time1, %time0;
setp.eq.and.u32 %more, %kind, {touch}, %first_thread;
@%more st.global.cg.u64 [%step_result + {StepRecord.cycles}], %time1;
@!%is_timed bra FLUSHED;)",
           codes);
  const auto flush = [&](std::string_view name, std::string_view bytes, std::string_view from, std::uint64_t offset) {
    const std::string address = fmt::format("add.u32 %link, {}, %offset;\n", from);
    for_words(text, name, bytes, address + R"(ld.shared.u32 %count, [%link];
cvt.u64.u32 %wide, %offset;
add.u64 %wide, %wide, %step_result;
st.global.cg.u32 [%wide + {record_offset}], %count;)",
              offset);
  };
  flush("FLUSH_HISTOGRAM", "{histogram_bytes}", "%histogram", sizeof(StepRecord));
  text.add("shl.b32 %cap_bytes, %cap, 2;");
  flush("FLUSH_LATENCIES", "%cap_bytes", "%latencies", sizeof(StepRecord) + kHistogramBytes);
  text.add("bar.sync 0;\nFLUSHED:");
}

void chase_kernel(PtxText& text, std::uint64_t frame_bytes = 0) {
  const auto code_of = [](StepCode code) { return static_cast<std::uint32_t>(code); };
  const PtxText::Values codes = {{"kind_mask", kStepCodes - 1},
                                 {"touch", code_of(StepCode::kTouch)},
                                 {"timed", code_of(StepCode::kTimed)},
                                 {"paired", code_of(StepCode::kPaired)},
                                 {"atomic", code_of(StepCode::kAtomic)}};
  prologue(text, frame_bytes);
  load_task(text);
  text.add("@%other_sm bra WRONG_SM;");
  claim_record(text, "%result");
  begin_program(text);
  if (frame_bytes > 0) write_local_links(text);
  text.add(kWaitForTurn);
  load_step(text, codes);
  run_step(text, frame_bytes > 0, codes);
  end_step(text, codes);
  text.add(kGoOn, {{"no_link", kNoLink}, {"no_turn", kNoTurn}});
  stamp_clocks(text, "end", "%result", "st.global.cg");
  linger_and_exit(text, "WAIT");
}

}  // namespace

std::string generate_chase_ptx(const PtxTarget& target) {
  PtxText text(target);
  fill_kernel(text);
  chase_kernel(text);
  spin_kernel(text);
  return text.take();
}

std::string generate_local_chase_ptx(const PtxTarget& target, std::uint64_t frame_bytes) {
  PtxText text(target);
  chase_kernel(text, frame_bytes);
  return text.take();
}

std::uint64_t local_frame_bytes(std::uint64_t local_bytes) {
  // All small sizes share one module.
  constexpr std::uint64_t kSmallest = 64 << 10;
  return std::bit_ceil(std::max(local_bytes, kSmallest)) / kLocalLanes;
}

}  // namespace gputopo::cuda
