#include "device/cuda/access_ptx.h"

#include "device/cuda/kernel_layout.h"
#include "device/cuda/ptx_phases.h"
#include "device/launch/access_kernels.h"

namespace gputopo::cuda {
namespace {

using Kernel = launch::AccessKernel;

constexpr std::string_view kAccessRegisters = R"(
  .reg .pred %first_lane;
  .reg .b32 %thread_id, %threads, %block, %sm, %lane, %warp, %warps, %shared, %link, %value;
  .reg .b32 %other1, %other2, %other3;
  .reg .b32 %lane_stride, %warp_stride, %offset, %bytes32, %hop32;
  .reg .b64 %working_set, %bytes, %hop, %warp_records, %pointer, %wide, %stamp;)";

constexpr std::string_view kSetAccessRegisters = R"(  mov.u32 %shared, dynamic_shared;
  and.b32 %lane, %thread_id, 31;
  shr.u32 %warp, %thread_id, 5;
  shr.u32 %warps, %threads, 5;
  setp.eq.u32 %first_thread, %thread_id, 0;
  setp.eq.u32 %first_lane, %lane, 0;
  cvt.u32.u64 %bytes32, %bytes;
  cvt.u32.u64 %hop32, %hop;)";

// Fills every word of the block's shared memory with its link, or with zero if no links are followed.
void fill_shared(PtxText& text, const Kernel& kernel) {
  text.add(R"(shl.b32 %offset, %thread_id, 2;
mov.u32 %value, 0;
FILL:
.pragma "nounroll";
setp.ge.u32 %done, %offset, %bytes32;
@%done bra FILLED;)");
  if (kernel.op == AccessOp::kLoad) {
    text.add(R"(add.u32 %value, %offset, %hop32;
rem.u32 %value, %value, %bytes32;
add.u32 %value, %value, %shared;)");
  }
  text.add(R"(add.u32 %link, %offset, %shared;
st.shared.u32 [%link], %value;
mad.lo.u32 %offset, %threads, 4, %offset;
bra FILL;
FILLED:)");
}

// Sets %link or %pointer to the lane's start. Warps are numbered through all blocks that share a working set.
void find_start(PtxText& text, const Kernel& kernel) {
  text.add(R"(mad.lo.u32 %old, %block, %warps, %warp;
mul.wide.u32 %pointer, {number}, %warp_stride;
mul.wide.u32 %wide, %lane, %lane_stride;
add.u64 %pointer, %pointer, %wide;
rem.u64 %pointer, %pointer, %bytes;)",
           {{"number", kernel.shared() ? "%warp" : "%old"}});
  if (kernel.shared()) {
    text.add("cvt.u32.u64 %link, %pointer;\nadd.u32 %link, %link, %shared;");
  } else if (kernel.constant()) {
    // Links are valid only if the bank begins at the start of its window.
    text.add(R"(mov.u64 %wide, constant_bank;
setp.ne.u64 %lost, %wide, 0;
@%lost bra LOST;
cvt.u32.u64 %link, %pointer;)");
  } else {
    text.add("add.u64 %pointer, %pointer, %working_set;");
  }
  move_to_element(text, "%warp_records", "%old", "WarpRecord");
  text.add("mov.u32 %value, 0;");
}

std::string_view access_of(const Kernel& kernel) {
  // The link is the first word of what a lane loads.
  if (kernel.load_bytes == 8) return "ld.volatile.shared.v2.u32 {%link, %other1}, [%link];";
  if (kernel.load_bytes == 16) return "ld.volatile.shared.v4.u32 {%link, %other1, %other2, %other3}, [%link];";
  switch (kernel.op) {
    case AccessOp::kLoad:
      return kernel.has_pointers() ? "{load}.u64 {address}, [{address}];" : "{load}.u32 {address}, [{address}];";
    case AccessOp::kStoreLoad:
      return "st.volatile.{window}.u32 [{address}], %value;\nld.volatile.{window}.u32 %value, [{address}];";
    case AccessOp::kStore:
      return "st.volatile.{window}.u32 [{address}], %value;";
    case AccessOp::kAtomicAdd:
      break;
  }
  return "atom.{window}.add.u32 %value, [{address}], %value;";
}

// Exits through LOST if the value is invalid, and holds back what follows until the value has arrived.
void wait_for(PtxText& text, const Kernel& kernel) {
  if (kernel.has_pointers()) {
    text.add("setp.eq.u64 %lost, %pointer, 0;");
  } else if (kernel.op == AccessOp::kLoad) {
    text.line("setp.eq.u32 %lost, %link, {};", kNoLink);
  } else {
    text.add("setp.eq.u32 %lost, %value, %never;");
  }
  text.add("@%lost bra LOST;");
}

void access_kernel(PtxText& text, const Kernel& kernel) {
  begin_phase_kernel(text, {.name = kernel.name(),
                            .parameters = "AccessParameters",
                            .registers = kAccessRegisters,
                            .fields = "working_set bytes hop=hop_bytes records warp_records arrived lane_stride "
                                      "warp_stride"});
  text.add(kSetAccessRegisters);
  begin_block_record(text);
  if (kernel.shared()) fill_shared(text, kernel);
  find_start(text, kernel);
  const std::string_view window = kernel.shared() ? "shared" : "global";
  const std::string_view address = is_global(kernel.space) ? "%pointer" : "%link";
  const auto access = [&](std::string_view code) {
    text.add(code, {{"window", window}, {"address", address}, {"load", load_opcode(kernel.space)}});
  };
  const auto round = [&] {
    for (std::uint32_t i = 0; i < kAccessUnroll; ++i) access(access_of(kernel));
  };
  const auto wait = [&] {
    if (kernel.op == AccessOp::kStore) access("ld.volatile.{window}.u32 %value, [{address}];");
    wait_for(text, kernel);
  };
  two_phases(text, round, wait);
  end_phase_kernel(text);
}

// Each thread of the grid fills every n-th word, n being the number of threads.
void access_fill_kernel(PtxText& text) {
  begin_kernel(text, "fill_links", "AccessParameters");
  text.add(R"(  .reg .pred %done;
  .reg .b32 %thread_id, %threads, %block, %blocks, %index;
  .reg .b64 %working_set, %bytes, %hop, %offset, %step, %link, %place;)");
  load_parameters(text, "AccessParameters", "working_set bytes hop=hop_bytes");
  text.add(R"(
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
})");
}

}  // namespace

std::string generate_access_ptx(const PtxTarget& target) {
  PtxText text(target);
  for (const Kernel& kernel : launch::kAccessKernels) access_kernel(text, kernel);
  access_fill_kernel(text);
  return text.take();
}

}  // namespace gputopo::cuda
