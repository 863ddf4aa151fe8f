#include "device/cuda/tensor_memory_ptx.h"

#include "device/launch/operation_kernels.h"

namespace gputopo::cuda {
namespace {

constexpr std::uint32_t kColumns = 512;          // columns of tensor memory that a block takes: all
constexpr std::uint32_t kColumnsOfResult = 256;  // 32 bits each in 128 rows

// Ends a round. Without the last barrier a warp that is two rounds late would wait for a phase that has passed.
constexpr std::string_view kEndRound =
    R"(@%issuer tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%round_barrier];
{
WAITING:
mbarrier.try_wait.parity.shared.b64 %round_ended, [%round_barrier], %parity;
@!%round_ended bra WAITING;
}
xor.b32 %parity, %parity, 1;
bar.sync %meeting, 128;)";

// Behind the factors lie a word for the address and an mbarrier for each four warps. The first operation overwrites the
// accumulators, whose old contents may not be numbers.
constexpr std::string_view kBegin = R"(
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
add.u32 %tensor_word, %tensor_word, {factor_bytes};
shl.b32 %round_barrier, %group, 3;
add.u32 %round_barrier, %round_barrier, %tensor_word;
add.u32 %round_barrier, %round_barrier, 8;
@%issuer mbarrier.init.shared.b64 [%round_barrier], 1;
@%first_warp tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%tensor_word], {columns};
@%first_warp tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
fence.proxy.async;
bar.sync 0;
ld.shared.u32 %tensor_memory, [%tensor_word];
mad.lo.u32 %accumulators, %group, {columns_of_result}, %tensor_memory;
mov.b32 %descriptor, 0x08400010;
@%issuer tcgen05.mma.cta_group::1.kind::f16 [%accumulators], %matrix_m, %matrix_n, %descriptor, %clean;
{end_round})";

// Each of the four warps reads its own 32 rows.
constexpr std::string_view kReadAccumulators = R"(tcgen05.fence::after_thread_sync;
and.b32 %row, %thread_id, 96;
shl.b32 %row, %row, 16;
add.u32 %row, %row, %accumulators;
tcgen05.ld.sync.aligned.32x32b.x1.b32 {%value}, [%row];
tcgen05.wait::ld.sync.aligned;)";

}  // namespace

void begin_tensor_memory(PtxText& text) {
  static_assert(kColumns == 2 * kColumnsOfResult);
  text.add(kBegin, {{"factor_bytes", launch::kFactorBytes},
                    {"columns", kColumns},
                    {"columns_of_result", kColumnsOfResult},
                    {"end_round", kEndRound}});
}

void end_tensor_round(PtxText& text) { text.add(kEndRound); }
void read_accumulators(PtxText& text) { text.add(kReadAccumulators); }

std::string end_with_tensor_memory() {
  return fmt::format(
      "tcgen05.fence::before_thread_sync;\nbar.sync 0;\n@%first_warp "
      "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %tensor_memory, {};\nbar.sync 0;",
      kColumns);
}

}  // namespace gputopo::cuda
