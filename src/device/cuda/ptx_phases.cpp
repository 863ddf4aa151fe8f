#include "device/cuda/ptx_phases.h"

#include "device/cuda/kernel_layout.h"

namespace gputopo::cuda {
namespace {

// All blocks continue at the same time, once there are %target arrivals. A block that gives up still adds to the
// barriers of all blocks but waits at none, so no two blocks wait for each other.
constexpr std::string_view kCommonStart = R"(
  bar.sync 0;
  add.u32 %target, %target, %blocks;
  @!%first_thread bra GO;
  setp.eq.u32 %done, %blocks, 1;
  @%done bra GO;
  atom.global.add.u32 %old, [%arrived], 1;
  mov.u32 %before, %clock;
WAIT:
  ld.volatile.global.u32 %here, [%arrived];
  mov.u32 %after, %clock;
  sub.u32 %after, %after, %before;
  setp.ge.u32 %late, %after, %longest;
  @%late bra GIVE_UP;
  setp.lt.u32 %more, %here, %target;
  @%more bra WAIT;
  bra GO;
GIVE_UP:
mov.u32 %old, {started_apart};
st.global.u32 [%records + {BlockRecord.error}], %old;
mov.u32 %reached, 0;
mov.u32 %arrivals, 0;
GO:
bar.sync 0;)";

// The compiler moves a clock reading in front of an earlier barrier, but not in front of a branch. Hence a reading that
// nobody needs, and a branch on it. Otherwise the time that a warp waited for the others would count as the timer's
// cost (on an H100: 1,003 cycles and more for all warps except the one that waits for the other blocks, and for that
// one too if the others leave it no time).
constexpr std::string_view kReadTimer = R"(mov.u32 %before, %clock;
setp.eq.u32 %lost, %before, %never;
@%lost {leave} LOST;
mov.u64 %timer, %clock64;
cvt.u32.u64 %before, %timer;
setp.eq.u32 %lost, %before, %never;
@%lost {leave} LOST;
mov.u64 %start, %clock64;)";

}  // namespace

void begin_phase_kernel(PtxText& text, const PhaseKernel& kernel) {
  begin_kernel(text, kernel.name, kernel.parameters, kernel.directives);
  text.add(R"(
  .reg .pred %first_thread, %done, %more, %lost, %late;
  .reg .b32 %blocks, %rounds, %timed_rounds, %phase, %never, %longest, %old, %here, %target, %before, %after;
  .reg .b32 %reached, %arrivals;
  .reg .b64 %records, %arrived, %start, %end, %timer;)");
  text.add(kernel.registers);
  load_parameters(text, kernel.parameters, kernel.fields);
  load_parameters(text, kernel.parameters, "rounds=warm_rounds timed_rounds=rounds never longest=longest_wait_cycles");
  text.add(R"(
  mov.u32 %thread_id, %tid.x;
  mov.u32 %threads, %ntid.x;
  mov.u32 %block, %ctaid.x;
  mov.u32 %blocks, %nctaid.x;
  mov.u32 %sm, %smid;)");
}

void begin_block_record(PtxText& text) {
  move_to_element(text, "%records", "%block", "BlockRecord");
  text.add("@%first_thread st.global.u32 [%records + {BlockRecord.sm}], %sm;");
  stamp_clocks(text, "start");
}

void two_phases(PtxText& text, const std::function<void()>& round, const std::function<void()>& wait,
                std::string_view leave, std::uint32_t of_pass) {
  text.add(R"(mov.u32 %target, 0;
mov.u32 %reached, 0;
mov.u32 %arrivals, %blocks;
mov.u32 %phase, 0;
PHASE:)");
  text.add(kCommonStart, {{"started_apart", kStartedApart}});
  text.add(kReadTimer, {{"leave", leave}});
  text.add(R"(setp.eq.u32 %done, %rounds, 0;
@%done bra DONE;
ROUND:
.pragma "nounroll";)");
  for (std::uint32_t done = 1; done < of_pass; ++done) {
    round();
    text.add("setp.eq.u32 %done, %rounds, {done};\n@%done bra DONE;", {{"done", done}});
  }
  round();
  text.add(R"(sub.u32 %rounds, %rounds, {of_pass};
setp.ne.u32 %more, %rounds, 0;
@%more bra ROUND;
DONE:)",
           {{"of_pass", of_pass}});
  wait();
  text.add(R"(mov.u64 %end, %clock64;
setp.ne.u32 %done, %phase, 0;
@%done bra FINISH;
mov.u32 %phase, 1;
mov.u32 %rounds, %timed_rounds;
bra PHASE;)");
}

void end_phase_kernel(PtxText& text, std::string_view before_end) {
  text.add(R"(LOST:
mov.u32 %old, {chain_lost};
st.global.u32 [%records + {BlockRecord.error}], %old;
bra LEAVE;
FINISH:
sub.u64 %timer, %start, %timer;
@%first_lane st.global.u64 [%warp_records + {WarpRecord.start_cycles}], %start;
@%first_lane st.global.u64 [%warp_records + {WarpRecord.end_cycles}], %end;
@%first_lane st.global.u64 [%warp_records + {WarpRecord.timer_cycles}], %timer;
LEAVE:
{before_end})",
           {{"chain_lost", kChainLost}, {"before_end", before_end}});
  stamp_clocks(text, "end");
  end_kernel(text);
}

}  // namespace gputopo::cuda
