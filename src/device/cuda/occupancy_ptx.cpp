#include "device/cuda/occupancy_ptx.h"

#include <cstddef>

#include "device/cuda/kernel_layout.h"
#include "device/cuda/ptx_text.h"

namespace gputopo::cuda {
namespace {

void prologue(PtxText& text, std::uint32_t registers) {
  kernel_line(text, occupancy_kernel_name(registers), sizeof(OccupancyParameters));
  text.line(".maxntid {}, 1, 1", registers == 0 ? 1024 : kMaxThreadsWithRegisters);
  // Or the compiler takes all that come with those that it needs.
  constexpr std::uint32_t kOwnRegisters = 28;
  if (registers > 0) text.line(".maxnreg {}", registers + kOwnRegisters);
  text.raw(R"({
  .reg .pred %first_thread, %more, %moved, %lost;
  .reg .b32 %thread_id, %block, %sm, %stay, %never, %value, %factor;
  .reg .b64 %operands, %records, %clock_records, %wide, %stamp, %begin, %now, %before, %timer, %last_timer, %step;
  .reg .b64 %timer_step, %clock_read, %clock_bits, %seen_timer, %seen_cycles;
)");
  load_parameter(text, "u64", "%operands", offsetof(OccupancyParameters, operands));
  load_parameter(text, "u64", "%records", offsetof(OccupancyParameters, records));
  load_parameter(text, "u64", "%clock_records", offsetof(OccupancyParameters, clock_records));
  load_parameter(text, "u32", "%stay", offsetof(OccupancyParameters, stay_cycles));
  load_parameter(text, "u32", "%never", offsetof(OccupancyParameters, never));
  text.raw(R"(
  mov.u32 %thread_id, %tid.x;
  mov.u32 %block, %ctaid.x;
  mov.u32 %sm, %smid;
  setp.eq.u32 %first_thread, %thread_id, 0;
)");
  text.line("mul.wide.u32 %wide, %block, {};", sizeof(BlockRecord));
  text.line("add.u64 %records, %records, %wide;");
  text.line("mul.wide.u32 %wide, %block, {};", sizeof(ClockRecord));
  text.line("add.u64 %clock_records, %clock_records, %wide;");
  text.line("@%first_thread st.global.u32 [%records + {}], %sm;", offsetof(BlockRecord, sm));
}

void stay(PtxText& text) {
  text.raw(R"(
  mov.u64 %timer_step, 9223372036854775807;
  mov.u64 %clock_read, 9223372036854775807;
  mov.u64 %clock_bits, 0;
  mov.u64 %seen_timer, 0;
  mov.u64 %seen_cycles, 0;
  mov.u64 %last_timer, %globaltimer;
  mov.u64 %begin, %clock64;
STAY:
  mov.u64 %before, %clock64;
  mov.u64 %now, %clock64;
  sub.u64 %step, %now, %before;
  setp.ne.u64 %moved, %step, 0;
  @%moved min.u64 %clock_read, %clock_read, %step;
  or.b64 %clock_bits, %clock_bits, %now;
  mov.u64 %timer, %globaltimer;
  setp.lt.u64 %moved, %last_timer, %timer;
  sub.u64 %step, %timer, %last_timer;
  @%moved min.u64 %timer_step, %timer_step, %step;
  @%moved mov.u64 %seen_timer, %timer;
  @%moved mov.u64 %seen_cycles, %now;
  mov.u64 %last_timer, %timer;
  sub.u64 %step, %now, %begin;
  cvt.u64.u32 %wide, %stay;
  setp.lt.u64 %more, %step, %wide;
  @%more bra STAY;
)");
}

void occupancy_kernel(PtxText& text, std::uint32_t registers) {
  prologue(text, registers);
  for (std::uint32_t i = 0; i < registers; ++i) {
    text.line(".reg .b32 %kept{};", i);
    text.line("ld.volatile.global.u32 %kept{}, [%operands + {}];", i, i % kOccupancyOperands * sizeof(std::uint32_t));
  }
  stamp_clocks(text, "%records", offsetof(BlockRecord, start_cycles), offsetof(BlockRecord, start_ns));
  stay(text);
  text.line("cvt.u32.u64 %factor, %now;");
  text.line("mov.u32 %value, %factor;");
  for (std::uint32_t i = 0; i < registers; ++i) text.line("mad.lo.u32 %value, %value, %factor, %kept{};", i);
  text.line("setp.eq.u32 %lost, %value, %never;");
  text.line("@%lost st.global.u32 [%records + {}], %value;", offsetof(BlockRecord, sink));
  text.line("@%first_thread st.global.u64 [%clock_records + {}], %seen_timer;", offsetof(ClockRecord, timer));
  text.line("@%first_thread st.global.u64 [%clock_records + {}], %seen_cycles;", offsetof(ClockRecord, cycles));
  text.line("@%first_thread st.global.u64 [%clock_records + {}], %timer_step;", offsetof(ClockRecord, timer_step));
  text.line("@%first_thread st.global.u64 [%clock_records + {}], %clock_read;", offsetof(ClockRecord, clock_read));
  text.line("@%first_thread st.global.u64 [%clock_records + {}], %clock_bits;", offsetof(ClockRecord, clock_bits));
  text.line("bar.sync 0;");
  stamp_clocks(text, "%records", offsetof(BlockRecord, end_cycles), offsetof(BlockRecord, end_ns));
  text.line("ret;");
  text.line("}}");
}

}  // namespace

std::string occupancy_kernel_name(std::uint32_t registers) { return fmt::format("occupancy_{}", registers); }

std::string generate_occupancy_ptx(const PtxTarget& target, std::span<const std::uint32_t> registers) {
  PtxText text;
  text.raw(module_header(target));
  for (const std::uint32_t count : registers) occupancy_kernel(text, count);
  return text.take();
}

}  // namespace gputopo::cuda
