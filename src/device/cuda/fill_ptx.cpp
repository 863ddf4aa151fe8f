#include "device/cuda/fill_ptx.h"

#include <bit>

#include "device/cuda/kernel_layout.h"

namespace gputopo::cuda {
namespace {

// Computes where the element at a position of the order lies.
void offset_of(PtxText& text, std::string_view name, std::string_view position, std::string_view into) {
  text.add(R"(mov.u32 %element, {position};
setp.eq.u32 %more, %reversed, 0;
@%more bra {name}_FORWARD;
sub.u32 %element, %count, {position};
sub.u32 %element, %element, 1;
{name}_FORWARD:
setp.eq.u64 %more, %table, 0;
@%more bra {name}_FOUND;
mul.wide.u32 %entry, {position}, 4;
add.u64 %entry, %entry, %table;
ld.global.u32 %element, [%entry];
{name}_FOUND:
cvt.u64.u32 %wide, %element;
mad.lo.u64 {into}, %wide, %stride, %chain_bytes;
setp.ge.u32 %upper, %element, %half;
@%upper add.u64 {into}, {into}, %skew;
mul.lo.u64 %wide, %wide, %stagger;
and.b64 %wide, %wide, %stagger_mask;
add.u64 {into}, {into}, %wide;)",
           {{"position", position}, {"name", name}, {"into", into}});
}

// Writes the link at %place, then moves on to the next element and to the next chain.
void write_link(PtxText& text) {
  text.add(R"(
  add.u64 %place, %place, %address;
  add.u64 %value, %value, %link_base;
  @%is_texel shr.u64 %value, %value, 2;
@%is_local shr.u64 %value, %value, {local_lanes_shift};

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
})",
           {{"local_lanes_shift", std::countr_zero(kLocalLanes)}});
}

}  // namespace

// Writes the links of the arrays. blockIdx.y selects the array, and the threads of its blocks share the elements.
void fill_kernel(PtxText& text) {
  text.add(R"(
.visible .entry fill(.param .u64 tasks)
{
  .reg .pred %done, %more, %upper, %is_pointer, %is_texel, %is_local;
  .reg .b32 %r0, %r1, %index, %next, %step, %count, %visited, %half, %form, %chain, %reversed, %element, %value32;
  .reg .b64 %task, %address, %link_base, %stride, %skew, %stagger, %stagger_mask, %table, %chain_bytes, %wide, %place, %value, %entry;
  ld.param.u64 %task, [tasks];
  cvta.to.global.u64 %task, %task;
  mov.u32 %r0, %ctaid.y;)");
  move_to_element(text, "%task", "%r0", "FillTask");
  load_fields(text, "ld.global", "%task", "FillTask",
              "address link_base stride=stride_bytes skew=skew_bytes stagger=stagger_bytes stagger_mask count form");
  text.add(R"(setp.eq.u32 %is_pointer, %form, {pointer};
setp.eq.u32 %is_texel, %form, {texel};
setp.eq.u32 %is_local, %form, {local};

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
ld.global.u64 %table, [%wide + {FillTask.tables}];
mul.wide.u32 %wide, %chain, 4;
add.u64 %wide, %wide, %task;
ld.global.u32 %reversed, [%wide + {FillTask.reversed}];
ld.global.u32 %visited, [%wide + {FillTask.visited}];

  mov.u32 %r0, %ctaid.x;
  mov.u32 %index, %tid.x;
  mad.lo.u32 %index, %r0, %r1, %index;
ELEMENTS:
  setp.ge.u32 %done, %index, %visited;
  @%done bra ELEMENTS_DONE;
  add.u32 %next, %index, 1;
  setp.eq.u32 %more, %next, %visited;
  selp.u32 %next, 0, %next, %more;)",
           {{"pointer", static_cast<std::uint32_t>(LinkForm::kPointer)},
            {"texel", static_cast<std::uint32_t>(LinkForm::kTexel)},
            {"local", static_cast<std::uint32_t>(LinkForm::kLocal)}});
  // %place belongs to this element, %value to the next one.
  offset_of(text, "PLACE", "%index", "%place");
  offset_of(text, "VALUE", "%next", "%value");
  write_link(text);
}

// Keeps every SM busy for `duration` ns and records the cycles and the time of the first block. This wakes the clocks
// and measures them. `sink` is the time in ns until the block was first stopped for another process; 0 if it was not.
void spin_kernel(PtxText& text) {
  text.add(R"(
.visible .entry spin(.param .u64 record, .param .u64 duration)
{
  .reg .pred %more, %first, %stopped;
  .reg .b32 %block, %thread_id, %turn;
  .reg .b64 %result, %duration, %start_ns, %now_ns, %start_cycles, %now_cycles, %before_ns, %before_cycles, %passed;
  ld.param.u64 %result, [record];
  cvta.to.global.u64 %result, %result;
  ld.param.u64 %duration, [duration];
  mov.u32 %block, %ctaid.x;
  mov.u32 %thread_id, %tid.x;
  or.b32 %block, %block, %thread_id;
  setp.eq.u32 %first, %block, 0;
  mov.u64 %start_ns, %globaltimer;
  mov.u64 %start_cycles, %clock64;
  mov.u64 %before_ns, %start_ns;
  mov.u64 %before_cycles, %start_cycles;
  mov.u32 %turn, 0;
SPIN:
  mov.u64 %now_ns, %globaltimer;
  mov.u64 %now_cycles, %clock64;
  sub.u64 %passed, %now_cycles, %before_cycles;
  setp.ge.u64 %stopped, %passed, 50000;
  setp.eq.and.u32 %stopped, %turn, 0, %stopped;
  sub.u64 %passed, %before_ns, %start_ns;
  @%stopped cvt.u32.u64 %turn, %passed;
  mov.u64 %before_ns, %now_ns;
  mov.u64 %before_cycles, %now_cycles;
  sub.u64 %now_ns, %now_ns, %start_ns;
  setp.lt.u64 %more, %now_ns, %duration;
  @%more bra SPIN;
  add.u64 %now_ns, %now_ns, %start_ns;
@%first st.global.u64 [%result + {BlockRecord.start_cycles}], %start_cycles;
@%first st.global.u64 [%result + {BlockRecord.end_cycles}], %now_cycles;
@%first st.global.u64 [%result + {BlockRecord.start_ns}], %start_ns;
@%first st.global.u64 [%result + {BlockRecord.end_ns}], %now_ns;
@%first st.global.u32 [%result + {BlockRecord.sink}], %turn;
ret;
})");
}

}  // namespace gputopo::cuda
