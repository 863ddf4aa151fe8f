#include "device/cuda/ptx_phases.h"

#include "device/cuda/kernel_layout.h"
#include "device/cuda/ptx_text.h"

namespace gputopo::cuda {
namespace {

// All blocks go on at the same time. %target counts the arrivals so far.
void common_start(PtxText& text) {
  text.raw(R"(
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
)");
  text.line("mov.u32 %old, {};", kStartedApart);
  text.line("st.global.u32 [%records + {}], %old;", offsetof(BlockRecord, error));
  // Barriers of all blocks count it and do not keep it: so no block waits for one that waits for it.
  text.line("mov.u32 %reached, 0;");
  text.line("mov.u32 %arrivals, 0;");
  text.line("GO:");
  text.line("bar.sync 0;");
}

}  // namespace

void declare_phase_registers(PtxText& text) {
  text.raw(R"(
  .reg .pred %first_thread, %done, %more, %lost, %late;
  .reg .b32 %blocks, %rounds, %timed_rounds, %phase, %never, %longest, %old, %here, %target, %before, %after;
  .reg .b32 %reached, %arrivals;
  .reg .b64 %records, %arrived, %start, %end, %timer;
)");
}

void two_phases(PtxText& text, const std::function<void()>& round, const std::function<void()>& wait,
                std::string_view leave, std::uint32_t of_pass) {
  text.line("mov.u32 %target, 0;");
  text.line("mov.u32 %reached, 0;");
  text.line("mov.u32 %arrivals, %blocks;");
  text.line("mov.u32 %phase, 0;");
  text.line("PHASE:");
  common_start(text);
  // The compiler reads the clock in front of a barrier that comes before, but not in front of a branch: a reading that
  // nobody needs, and a branch on it. Else what a warp waited for the others would count as the timer's cost (seen on
  // an H100: 1,003 cycles and more of all warps but the one that waits for the other blocks, and of that one, too,
  // where the others leave it no time).
  text.line("mov.u32 %before, %clock;");
  text.line("setp.eq.u32 %lost, %before, %never;");
  text.line("@%lost {} LOST;", leave);
  text.line("mov.u64 %timer, %clock64;");
  text.line("cvt.u32.u64 %before, %timer;");
  text.line("setp.eq.u32 %lost, %before, %never;");
  text.line("@%lost {} LOST;", leave);
  text.line("mov.u64 %start, %clock64;");
  text.line("setp.eq.u32 %done, %rounds, 0;");
  text.line("@%done bra DONE;");
  text.line("ROUND:");
  text.line(".pragma \"nounroll\";");
  for (std::uint32_t done = 1; done < of_pass; ++done) {
    round();
    text.line("setp.eq.u32 %done, %rounds, {};", done);
    text.line("@%done bra DONE;");
  }
  round();
  text.line("sub.u32 %rounds, %rounds, {};", of_pass);
  text.line("setp.ne.u32 %more, %rounds, 0;");
  text.line("@%more bra ROUND;");
  text.line("DONE:");
  wait();
  text.line("mov.u64 %end, %clock64;");
  text.line("setp.ne.u32 %done, %phase, 0;");
  text.line("@%done bra FINISH;");
  text.line("mov.u32 %phase, 1;");
  text.line("mov.u32 %rounds, %timed_rounds;");
  text.line("bra PHASE;");
}

void chain_lost(PtxText& text) {
  text.line("LOST:");
  text.line("mov.u32 %old, {};", kChainLost);
  text.line("st.global.u32 [%records + {}], %old;", offsetof(BlockRecord, error));
  text.line("bra LEAVE;");
}

void write_warp_record(PtxText& text, std::string_view writer) {
  text.line("FINISH:");
  text.line("sub.u64 %timer, %start, %timer;");
  text.line("@{} st.global.u64 [%warp_records + {}], %start;", writer, offsetof(WarpRecord, start_cycles));
  text.line("@{} st.global.u64 [%warp_records + {}], %end;", writer, offsetof(WarpRecord, end_cycles));
  text.line("@{} st.global.u64 [%warp_records + {}], %timer;", writer, offsetof(WarpRecord, timer_cycles));
}

}  // namespace gputopo::cuda
