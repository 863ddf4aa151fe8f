#include "device/cuda/occupancy_ptx.h"

#include "device/cuda/kernel_layout.h"
#include "device/cuda/ptx_text.h"

namespace gputopo::cuda {
namespace {

void begin_occupancy_kernel(PtxText& text, std::uint32_t registers) {
  // Without a limit, the compiler takes all registers that come with those that it needs.
  constexpr std::uint32_t kOwnRegisters = 28;
  const std::string most_registers = registers > 0 ? fmt::format("\n.maxnreg {}", registers + kOwnRegisters) : "";
  const std::uint32_t most_threads = registers == 0 ? 1024 : kMaxThreadsWithRegisters;
  begin_kernel(text, occupancy_kernel_name(registers), "OccupancyParameters",
               fmt::format(".maxntid {}, 1, 1{}", most_threads, most_registers));
  text.add(R"(  .reg .pred %first_thread, %more, %moved, %lost;
  .reg .b32 %thread_id, %block, %sm, %stay, %never, %value, %factor;
  .reg .b64 %operands, %records, %clock_records, %wide, %stamp, %begin, %now, %before, %timer, %last_timer, %step;
  .reg .b64 %timer_step, %clock_read, %clock_bits, %seen_timer, %seen_cycles;)");
  load_parameters(text, "OccupancyParameters", "operands records clock_records stay=stay_cycles never");
  text.add(R"(
  mov.u32 %thread_id, %tid.x;
  mov.u32 %block, %ctaid.x;
  mov.u32 %sm, %smid;
  setp.eq.u32 %first_thread, %thread_id, 0;)");
  move_to_element(text, "%records", "%block", "BlockRecord");
  move_to_element(text, "%clock_records", "%block", "ClockRecord");
  text.add("@%first_thread st.global.u32 [%records + {BlockRecord.sm}], %sm;");
}

constexpr std::string_view kStay = R"(
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
cvt.u32.u64 %factor, %now;
mov.u32 %value, %factor;)";

constexpr std::string_view kWriteRecords = R"(setp.eq.u32 %lost, %value, %never;
@%lost st.global.u32 [%records + {BlockRecord.sink}], %value;
@%first_thread st.global.u64 [%clock_records + {ClockRecord.timer}], %seen_timer;
@%first_thread st.global.u64 [%clock_records + {ClockRecord.cycles}], %seen_cycles;
@%first_thread st.global.u64 [%clock_records + {ClockRecord.timer_step}], %timer_step;
@%first_thread st.global.u64 [%clock_records + {ClockRecord.clock_read}], %clock_read;
@%first_thread st.global.u64 [%clock_records + {ClockRecord.clock_bits}], %clock_bits;
bar.sync 0;)";

void occupancy_kernel(PtxText& text, std::uint32_t registers) {
  begin_occupancy_kernel(text, registers);
  for (std::uint32_t i = 0; i < registers; ++i) {
    text.line(".reg .b32 %kept{};", i);
    text.line("ld.volatile.global.u32 %kept{}, [%operands + {}];", i, i % kOccupancyOperands * sizeof(std::uint32_t));
  }
  stamp_clocks(text, "start");
  text.add(kStay);
  for (std::uint32_t i = 0; i < registers; ++i) text.line("mad.lo.u32 %value, %value, %factor, %kept{};", i);
  text.add(kWriteRecords);
  stamp_clocks(text, "end");
  end_kernel(text);
}

}  // namespace

std::string occupancy_kernel_name(std::uint32_t registers) { return fmt::format("occupancy_{}", registers); }

std::string generate_occupancy_ptx(const PtxTarget& target, std::span<const std::uint32_t> registers) {
  PtxText text(target);
  for (const std::uint32_t count : registers) occupancy_kernel(text, count);
  return text.take();
}

}  // namespace gputopo::cuda
