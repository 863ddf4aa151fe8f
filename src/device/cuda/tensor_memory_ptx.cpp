#include "device/cuda/tensor_memory_ptx.h"

#include "device/launch/operation_kernels.h"

namespace gputopo::cuda {
namespace {

constexpr std::uint32_t kColumns = 512;          // of tensor memory that a block takes: all
constexpr std::uint32_t kColumnsOfResult = 256;  // 32 bits each in 128 rows

}  // namespace

void begin_tensor_memory(PtxText& text) {
  text.raw(R"(
  .reg .pred %issuer, %first_warp, %round_ended, %clean;
  .reg .b32 %accumulators, %tensor_memory, %tensor_word, %round_barrier, %parity, %group, %descriptor, %row, %meeting;
  shr.u32 %group, %thread_id, 7;
  and.b32 %value, %thread_id, 127;
  setp.eq.u32 %issuer, %value, 0;
  setp.lt.u32 %first_warp, %thread_id, 32;
  setp.ne.u32 %clean, %one, %one;
  add.u32 %meeting, %group, 1;
  mov.u32 %parity, 0;
  mov.u32 %tensor_word, dynamic_shared;
)");
  // Behind the factors: a word for the address, and an mbarrier for each four warps.
  text.line("add.u32 %tensor_word, %tensor_word, {};", launch::kFactorBytes);
  text.line("shl.b32 %round_barrier, %group, 3;");
  text.line("add.u32 %round_barrier, %round_barrier, %tensor_word;");
  text.line("add.u32 %round_barrier, %round_barrier, 8;");
  text.line("@%issuer mbarrier.init.shared.b64 [%round_barrier], 1;");
  text.line("@%first_warp tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%tensor_word], {};", kColumns);
  text.line("@%first_warp tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
  text.line("fence.proxy.async;");
  text.line("bar.sync 0;");
  text.line("ld.shared.u32 %tensor_memory, [%tensor_word];");
  text.line("mad.lo.u32 %accumulators, %group, {}, %tensor_memory;", kColumnsOfResult);
  // The first operation adds to nothing: what was there may be no number.
  text.line("mov.b32 %descriptor, 0x08400010;");
  text.line("@%issuer tcgen05.mma.cta_group::1.kind::f16 [%accumulators], %matrix_m, %matrix_n, %descriptor, %clean;");
  end_tensor_round(text);
}

void end_tensor_round(PtxText& text) {
  static_assert(kColumns == 2 * kColumnsOfResult);
  text.line("@%issuer tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%round_barrier];");
  text.line("{{");
  text.line("WAITING:");
  text.line("mbarrier.try_wait.parity.shared.b64 %round_ended, [%round_barrier], %parity;");
  text.line("@!%round_ended bra WAITING;");
  text.line("}}");
  text.line("xor.b32 %parity, %parity, 1;");
  // Else a warp that is two rounds late would wait for a phase that has passed.
  text.line("bar.sync %meeting, 128;");
}

void read_accumulators(PtxText& text) {
  text.line("tcgen05.fence::after_thread_sync;");
  // A warp of the four reads its own 32 rows.
  text.line("and.b32 %row, %thread_id, 96;");
  text.line("shl.b32 %row, %row, 16;");
  text.line("add.u32 %row, %row, %accumulators;");
  text.line("tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%value}}, [%row];");
  text.line("tcgen05.wait::ld.sync.aligned;");
}

void give_back_tensor_memory(PtxText& text) {
  text.line("tcgen05.fence::before_thread_sync;");
  text.line("bar.sync 0;");
  text.line("@%first_warp tcgen05.dealloc.cta_group::1.sync.aligned.b32 %tensor_memory, {};", kColumns);
}

}  // namespace gputopo::cuda
