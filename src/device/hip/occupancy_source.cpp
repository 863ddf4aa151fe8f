#include "device/hip/occupancy_source.h"

#include <fmt/format.h>

#include <cstddef>

#include "device/hip/gfx_target.h"
#include "device/hip/source_text.h"
#include "device/launch/kernel_layout.h"

namespace gputopo::hip {
namespace {

using namespace launch;

constexpr std::string_view kOccupancy = R"hip(
DEVICE void stay(Parameters p) {
  const bool first_thread = __builtin_amdgcn_workitem_id_x() == 0;
  const u64 block = __builtin_amdgcn_workgroup_id_x();
  const u64 record = p.records + block * kBlockRecord_bytes;
  const u64 clocks = p.clock_records + block * kClockRecord_bytes;
  if (first_thread) begin_block(record, hardware_id());
  const u64 none = ~0ull >> 1;
  // A pass takes several steps of the timer. The step is the largest power of two that divides all differences.
  u64 timer_moves = 0, clock_read = none, clock_bits = 0, seen_timer = 0, seen_cycles = 0;
  u64 last_timer = wall_clock();
  const u64 begin = clock();
  u64 now = begin;
  #pragma clang loop unroll(disable)
  while (now - begin < p.stay_cycles) {
    const u64 before = clock();
    now = clock();
    if (now != before && now - before < clock_read) clock_read = now - before;
    clock_bits |= now;
    const u64 timer = wall_clock();
    if (timer > last_timer) {
      timer_moves |= timer - last_timer;
      seen_timer = timer;
      seen_cycles = now;
    }
    last_timer = timer;
  }
  if (first_thread) {
    write64(clocks + kClockRecord_timer, seen_timer);
    write64(clocks + kClockRecord_cycles, seen_cycles);
    write64(clocks + kClockRecord_timer_step, timer_moves == 0 ? none : timer_moves & (~timer_moves + 1));
    write64(clocks + kClockRecord_clock_read, clock_read);
    write64(clocks + kClockRecord_clock_bits, clock_bits);
  }
  barrier();
  if (first_thread) end_block(record);
}
)hip";

// {0}: name; {1}: the last register of a thread. Assembly that claims to write it makes the compiler allocate all.
// Blocks have at most four wavefronts, or the compiler would allocate only what larger blocks could have.
constexpr std::string_view kKernelWithRegisters = R"hip(
extern "C" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(64, 256))) void {0}(Parameters p) {{
  asm volatile("" : : : "v{1}");
  stay(p);
}}
)hip";

}  // namespace

std::string occupancy_kernel_name(std::uint32_t registers) { return fmt::format("occupancy_{}", registers); }

std::string generate_occupancy_source(const GfxTarget& target, std::span<const std::uint32_t> registers) {
  SourceText text(target);
  constexpr std::string_view kFields = "records clock_records stay_cycles";
  text.offsets("OccupancyParameters", kFields);
  text.offsets("ClockRecord", "timer cycles timer_step clock_read clock_bits");
  text.size_of("ClockRecord");
  text.parameters("OccupancyParameters", R"hip(  u64 operands, records, clock_records;
  u32 stay_cycles, never;)hip",
                  kFields);
  text.raw(kOccupancy);
  for (const std::uint32_t count : registers) {
    const std::string name = occupancy_kernel_name(count);
    text.raw(count == 0 ? fmt::format("KERNEL void {}(Parameters p) {{ stay(p); }}\n", name)
                        : fmt::format(fmt::runtime(kKernelWithRegisters), name, count - 1));
  }
  return text.take();
}

std::string generate_empty_source(const GfxTarget& target, std::uint32_t argument_bytes) {
  SourceText text(target);
  text.constant("kWords", argument_bytes / sizeof(std::uint64_t));
  text.raw("struct Arguments {\n  u64 words[kWords];\n};\nKERNEL void empty(Arguments) {}\n");
  return text.take();
}

}  // namespace gputopo::hip
