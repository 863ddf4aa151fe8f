#include "device/cuda/access_ptx.h"

#include <cstddef>

#include "device/cuda/kernel_layout.h"
#include "device/cuda/ptx_phases.h"
#include "device/cuda/ptx_text.h"
#include "device/launch/access_kernels.h"

namespace gputopo::cuda {
namespace {

using Kernel = launch::AccessKernel;

std::string_view address_of(const Kernel& kernel) { return is_global(kernel.space) ? "%pointer" : "%link"; }
std::string_view window_of(const Kernel& kernel) { return kernel.shared() ? "shared" : "global"; }

void prologue(PtxText& text, const Kernel& kernel) {
  kernel_line(text, kernel.name(), sizeof(AccessParameters));
  text.line("{{");
  declare_phase_registers(text);
  text.raw(R"(
  .reg .pred %first_lane;
  .reg .b32 %thread_id, %threads, %block, %sm, %lane, %warp, %warps, %shared, %link, %value;
  .reg .b32 %other1, %other2, %other3;
  .reg .b32 %lane_stride, %warp_stride, %offset, %bytes32, %hop32;
  .reg .b64 %working_set, %bytes, %hop, %warp_records, %pointer, %wide, %stamp;
)");
  load_parameter(text, "u64", "%working_set", offsetof(AccessParameters, working_set));
  load_parameter(text, "u64", "%bytes", offsetof(AccessParameters, bytes));
  load_parameter(text, "u64", "%hop", offsetof(AccessParameters, hop_bytes));
  load_parameter(text, "u64", "%records", offsetof(AccessParameters, records));
  load_parameter(text, "u64", "%warp_records", offsetof(AccessParameters, warp_records));
  load_parameter(text, "u64", "%arrived", offsetof(AccessParameters, arrived));
  load_parameter(text, "u32", "%lane_stride", offsetof(AccessParameters, lane_stride));
  load_parameter(text, "u32", "%warp_stride", offsetof(AccessParameters, warp_stride));
  load_parameter(text, "u32", "%rounds", offsetof(AccessParameters, warm_rounds));
  load_parameter(text, "u32", "%timed_rounds", offsetof(AccessParameters, rounds));
  load_parameter(text, "u32", "%never", offsetof(AccessParameters, never));
  load_parameter(text, "u32", "%longest", offsetof(AccessParameters, longest_wait_cycles));
  text.raw(R"(
  mov.u32 %thread_id, %tid.x;
  mov.u32 %threads, %ntid.x;
  mov.u32 %block, %ctaid.x;
  mov.u32 %blocks, %nctaid.x;
  mov.u32 %sm, %smid;
  mov.u32 %shared, dynamic_shared;
  and.b32 %lane, %thread_id, 31;
  shr.u32 %warp, %thread_id, 5;
  shr.u32 %warps, %threads, 5;
  setp.eq.u32 %first_thread, %thread_id, 0;
  setp.eq.u32 %first_lane, %lane, 0;
  cvt.u32.u64 %bytes32, %bytes;
  cvt.u32.u64 %hop32, %hop;
)");
  text.line("mul.wide.u32 %wide, %block, {};", sizeof(BlockRecord));
  text.line("add.u64 %records, %records, %wide;");
  text.line("@%first_thread st.global.u32 [%records + {}], %sm;", offsetof(BlockRecord, sm));
}

// Every word of the block's shared memory: its link, or zero.
void fill_shared(PtxText& text, const Kernel& kernel) {
  text.line("shl.b32 %offset, %thread_id, 2;");
  text.line("mov.u32 %value, 0;");
  text.line("FILL:");
  text.line(".pragma \"nounroll\";");
  text.line("setp.ge.u32 %done, %offset, %bytes32;");
  text.line("@%done bra FILLED;");
  if (kernel.op == AccessOp::kLoad) {
    text.line("add.u32 %value, %offset, %hop32;");
    text.line("rem.u32 %value, %value, %bytes32;");
    text.line("add.u32 %value, %value, %shared;");
  }
  text.line("add.u32 %link, %offset, %shared;");
  text.line("st.shared.u32 [%link], %value;");
  text.line("mad.lo.u32 %offset, %threads, 4, %offset;");
  text.line("bra FILL;");
  text.line("FILLED:");
}

// %link or %pointer: where the lane begins. Warps are numbered through the blocks that share a working set.
void find_start(PtxText& text, const Kernel& kernel) {
  text.line("mad.lo.u32 %old, %block, %warps, %warp;");
  text.line("mul.wide.u32 %pointer, {}, %warp_stride;", kernel.shared() ? "%warp" : "%old");
  text.line("mul.wide.u32 %wide, %lane, %lane_stride;");
  text.line("add.u64 %pointer, %pointer, %wide;");
  text.line("rem.u64 %pointer, %pointer, %bytes;");
  if (kernel.shared()) {
    text.line("cvt.u32.u64 %link, %pointer;");
    text.line("add.u32 %link, %link, %shared;");
  } else if (kernel.constant()) {
    // Links hold for a bank at the start of its window.
    text.line("mov.u64 %wide, constant_bank;");
    text.line("setp.ne.u64 %lost, %wide, 0;");
    text.line("@%lost bra LOST;");
    text.line("cvt.u32.u64 %link, %pointer;");
  } else {
    text.line("add.u64 %pointer, %pointer, %working_set;");
  }
  text.line("mul.wide.u32 %wide, %old, {};", sizeof(WarpRecord));
  text.line("add.u64 %warp_records, %warp_records, %wide;");
  text.line("mov.u32 %value, 0;");
}

// The link is the first word of what a lane loads.
void wide_load(PtxText& text, const Kernel& kernel) {
  const bool two = kernel.load_bytes == 8;
  text.line("ld.volatile.shared.{}.u32 {{%link, {}}}, [%link];", two ? "v2" : "v4",
            two ? "%other1" : "%other1, %other2, %other3");
}

void access(PtxText& text, const Kernel& kernel) {
  if (kernel.load_bytes != 0) return wide_load(text, kernel);
  switch (kernel.op) {
    case AccessOp::kLoad:
      text.line("{}.{} {}, [{}];", load_opcode(kernel.space), kernel.has_pointers() ? "u64" : "u32", address_of(kernel),
                address_of(kernel));
      break;
    case AccessOp::kStoreLoad:
      text.line("st.volatile.{}.u32 [{}], %value;", window_of(kernel), address_of(kernel));
      text.line("ld.volatile.{}.u32 %value, [{}];", window_of(kernel), address_of(kernel));
      break;
    case AccessOp::kStore:
      text.line("st.volatile.{}.u32 [{}], %value;", window_of(kernel), address_of(kernel));
      break;
    case AccessOp::kAtomicAdd:
      text.line("atom.{}.add.u32 %value, [{}], %value;", window_of(kernel), address_of(kernel));
      break;
  }
}

// Leaves through LOST for a value that there is not, and holds what follows back until the value has come.
void wait_for(PtxText& text, const Kernel& kernel) {
  if (kernel.has_pointers()) {
    text.line("setp.eq.u64 %lost, %pointer, 0;");
  } else if (kernel.op == AccessOp::kLoad) {
    text.line("setp.eq.u32 %lost, %link, {};", kNoLink);
  } else {
    text.line("setp.eq.u32 %lost, %value, %never;");
  }
  text.line("@%lost bra LOST;");
}

void phases(PtxText& text, const Kernel& kernel) {
  const auto round = [&] {
    for (std::uint32_t i = 0; i < kAccessUnroll; ++i) access(text, kernel);
  };
  const auto wait = [&] {
    if (kernel.op == AccessOp::kStore) {
      text.line("ld.volatile.{}.u32 %value, [{}];", window_of(kernel), address_of(kernel));
    }
    wait_for(text, kernel);
  };
  two_phases(text, round, wait);
}

void access_epilogue(PtxText& text) {
  chain_lost(text);
  write_warp_record(text, "%first_lane");
  text.line("LEAVE:");
  text.line("bar.sync 0;");
  stamp_clocks(text, "%records", offsetof(BlockRecord, end_cycles), offsetof(BlockRecord, end_ns));
  text.line("ret;");
  text.line("}}");
}

void access_kernel(PtxText& text, const Kernel& kernel) {
  prologue(text, kernel);
  stamp_clocks(text, "%records", offsetof(BlockRecord, start_cycles), offsetof(BlockRecord, start_ns));
  if (kernel.shared()) fill_shared(text, kernel);
  find_start(text, kernel);
  phases(text, kernel);
  access_epilogue(text);
}

// Every thread of the grid takes every so many-th word.
void access_fill_kernel(PtxText& text) {
  kernel_line(text, "fill_links", sizeof(AccessParameters));
  text.raw(R"({
  .reg .pred %done;
  .reg .b32 %thread_id, %threads, %block, %blocks, %index;
  .reg .b64 %working_set, %bytes, %hop, %offset, %step, %link, %place;
)");
  load_parameter(text, "u64", "%working_set", offsetof(AccessParameters, working_set));
  load_parameter(text, "u64", "%bytes", offsetof(AccessParameters, bytes));
  load_parameter(text, "u64", "%hop", offsetof(AccessParameters, hop_bytes));
  text.raw(R"(
  mov.u32 %thread_id, %tid.x;
  mov.u32 %threads, %ntid.x;
  mov.u32 %block, %ctaid.x;
  mov.u32 %blocks, %nctaid.x;
  mad.lo.u32 %index, %block, %threads, %thread_id;
  mul.wide.u32 %offset, %index, 8;
  mul.lo.u32 %index, %blocks, %threads;
  mul.wide.u32 %step, %index, 8;
NEXT:
  setp.ge.u64 %done, %offset, %bytes;
  @%done bra END;
  add.u64 %link, %offset, %hop;
  setp.ge.u64 %done, %link, %bytes;
  @%done sub.u64 %link, %link, %bytes;
  add.u64 %link, %link, %working_set;
  add.u64 %place, %working_set, %offset;
  st.global.cg.u64 [%place], %link;
  add.u64 %offset, %offset, %step;
  bra NEXT;
END:
  ret;
}
)");
}

}  // namespace

std::string generate_access_ptx(const PtxTarget& target) {
  PtxText text;
  text.raw(module_header(target));
  for (const Kernel& kernel : launch::kAccessKernels) access_kernel(text, kernel);
  access_fill_kernel(text);
  return text.take();
}

}  // namespace gputopo::cuda
