#include "device/cuda/cluster_ptx.h"

#include <cstddef>

#include "device/cuda/kernel_layout.h"
#include "device/cuda/ptx_phases.h"
#include "device/cuda/ptx_text.h"
#include "gputopo/error.h"

namespace gputopo::cuda {
namespace {

// Loads of a read that are under way together before they are used.
constexpr std::uint32_t kLoadsTogether = 4;
// Tests of a barrier, each of which may itself wait a little, until a copy counts as lost.
constexpr std::uint32_t kMaxTests = 1u << 16;

void prologue(PtxText& text, ClusterOp op, std::uint32_t threads) {
  kernel_line(text, cluster_kernel_name(op), sizeof(ClusterParameters));
  text.line(".maxntid {}, 1, 1", threads);
  text.line("{{");
  declare_phase_registers(text);
  text.raw(R"(
  .reg .pred %first_lane;
  .reg .b32 %thread_id, %threads, %block, %sm, %warps, %shared, %offset, %bytes32, %hop, %reader;
  .reg .b32 %rank, %ranks, %other, %window, %link;
  .reg .b64 %bytes, %warp_records, %wide, %stamp;
)");
  load_parameter(text, "u64", "%bytes", offsetof(ClusterParameters, bytes));
  load_parameter(text, "u64", "%records", offsetof(ClusterParameters, records));
  load_parameter(text, "u64", "%warp_records", offsetof(ClusterParameters, warp_records));
  load_parameter(text, "u64", "%arrived", offsetof(ClusterParameters, arrived));
  load_parameter(text, "u32", "%hop", offsetof(ClusterParameters, hop));
  load_parameter(text, "u32", "%reader", offsetof(ClusterParameters, reader));
  load_parameter(text, "u32", "%rounds", offsetof(ClusterParameters, warm_rounds));
  load_parameter(text, "u32", "%timed_rounds", offsetof(ClusterParameters, rounds));
  load_parameter(text, "u32", "%never", offsetof(ClusterParameters, never));
  load_parameter(text, "u32", "%longest", offsetof(ClusterParameters, longest_wait_cycles));
  text.raw(R"(
  mov.u32 %thread_id, %tid.x;
  mov.u32 %threads, %ntid.x;
  mov.u32 %block, %ctaid.x;
  mov.u32 %blocks, %nctaid.x;
  mov.u32 %sm, %smid;
  mov.u32 %shared, dynamic_shared;
  mov.u32 %rank, %cluster_ctarank;
  mov.u32 %ranks, %cluster_nctarank;
  cvt.u32.u64 %bytes32, %bytes;
  setp.eq.u32 %first_thread, %thread_id, 0;
  and.b32 %other, %thread_id, 31;
  setp.eq.u32 %first_lane, %other, 0;
  add.u32 %warps, %threads, 31;
  shr.u32 %warps, %warps, 5;
  shr.u32 %other, %thread_id, 5;
  mad.lo.u32 %other, %block, %warps, %other;
)");
  text.line("mul.wide.u32 %wide, %other, {};", sizeof(WarpRecord));
  text.line("add.u64 %warp_records, %warp_records, %wide;");
  text.line("mul.wide.u32 %wide, %block, {};", sizeof(BlockRecord));
  text.line("add.u64 %records, %records, %wide;");
  text.line("@%first_thread st.global.u32 [%records + {}], %sm;", offsetof(BlockRecord, sm));
  stamp_clocks(text, "%records", offsetof(BlockRecord, start_cycles), offsetof(BlockRecord, start_ns));
  // %window: the shared memory of the block that this one reads.
  text.raw(R"(
  add.u32 %other, %rank, %hop;
  rem.u32 %other, %other, %ranks;
  mapa.shared::cluster.u32 %window, %shared, %other;
)");
}

void cluster_barrier(PtxText& text) {
  text.line("barrier.cluster.arrive.release;");
  text.line("barrier.cluster.wait.acquire;");
}

void cluster_epilogue(PtxText& text) {
  chain_lost(text);
  write_warp_record(text, "%first_lane");
  text.line("LEAVE:");
  cluster_barrier(text);
  stamp_clocks(text, "%records", offsetof(BlockRecord, end_cycles), offsetof(BlockRecord, end_ns));
  text.line("ret;");
  text.line("}}");
}

void cluster_chase_kernel(PtxText& text) {
  prologue(text, ClusterOp::kChase, 1);
  text.line(".reg .b64 %start_pointer, %pointer, %next;");
  text.line("cvt.u64.u32 %start_pointer, %window;");
  text.line("cvta.shared::cluster.u64 %start_pointer, %start_pointer;");
  cluster_barrier(text);
  text.line("setp.eq.u32 %more, %rank, %reader;");
  text.line("@%more bra FILL;");
  text.line("mov.u32 %rounds, 0;");
  text.line("mov.u32 %timed_rounds, 0;");
  text.line("bra FILLED;");
  text.line("FILL:");
  text.line("mov.u32 %offset, 0;");
  text.line("mov.u64 %pointer, %start_pointer;");
  text.line("NEXT:");
  text.line(".pragma \"nounroll\";");
  text.line("add.u32 %offset, %offset, {};", kClusterHopBytes);
  text.line("add.u64 %next, %pointer, {};", kClusterHopBytes);
  text.line("setp.lt.u32 %more, %offset, %bytes32;");
  text.line("@!%more mov.u64 %next, %start_pointer;");
  text.line("st.u64 [%pointer], %next;");
  text.line("mov.u64 %pointer, %next;");
  text.line("@%more bra NEXT;");
  text.line("FILLED:");
  text.line("mov.u64 %pointer, %start_pointer;");
  cluster_barrier(text);
  const auto round = [&] {
    for (std::uint32_t i = 0; i < kClusterUnroll; ++i) text.line("ld.u64 %pointer, [%pointer];");
  };
  const auto wait = [&] {
    text.line("setp.eq.u64 %lost, %pointer, 0;");
    text.line("@%lost bra LOST;");
  };
  two_phases(text, round, wait);
  cluster_epilogue(text);
}

void read_kernel(PtxText& text) {
  prologue(text, ClusterOp::kRead, 32 * kMaxAccessWarps);
  text.raw(R"(
  .reg .b32 %sum, %step, %mask, %zero;
  shl.b32 %offset, %thread_id, 2;
  mov.u32 %zero, 0;
CLEAR:
  .pragma "nounroll";
  setp.ge.u32 %done, %offset, %bytes32;
  @%done bra CLEARED;
  add.u32 %link, %shared, %offset;
  st.shared.u32 [%link], %zero;
  mad.lo.u32 %offset, %threads, 4, %offset;
  bra CLEAR;
CLEARED:
  sub.u32 %mask, %bytes32, 1;
  mov.u32 %sum, 0;
)");
  text.line("mul.lo.u32 %offset, %thread_id, {};", kClusterReadBytes);
  text.line("mul.lo.u32 %step, %threads, {};", kClusterReadBytes);
  text.line(".reg .b32 %word<{}>;", 4 * kLoadsTogether);
  cluster_barrier(text);
  const auto round = [&] {
    for (std::uint32_t i = 0; i < kClusterUnroll; i += kLoadsTogether) {
      for (std::uint32_t word = 0; word < 4 * kLoadsTogether; word += 4) {
        text.line("add.u32 %link, %window, %offset;");
        text.line("ld.shared::cluster.v4.u32 {{%word{}, %word{}, %word{}, %word{}}}, [%link];", word, word + 1,
                  word + 2, word + 3);
        text.line("add.u32 %offset, %offset, %step;");
        text.line("and.b32 %offset, %offset, %mask;");
      }
      for (std::uint32_t word = 0; word < 4 * kLoadsTogether; ++word) text.line("xor.b32 %sum, %sum, %word{};", word);
    }
  };
  const auto wait = [&] {
    text.line("setp.eq.u32 %lost, %sum, %never;");
    text.line("@%lost bra LOST;");
  };
  two_phases(text, round, wait);
  cluster_epilogue(text);
}

// Until the copy into %slot has arrived that was issued with the parity %wanted; at once where there was none yet.
void wait_for_slot(PtxText& text, std::string_view name) {
  text.line("mad.lo.u32 %barrier, %slot, 8, %shared;");
  text.line("mov.u32 %tests, {};", kMaxTests);
  text.line("{}_TEST:", name);
  text.line("mbarrier.try_wait.parity.shared::cta.b64 %more, [%barrier], %wanted;");
  text.line("@%more bra {}_ARRIVED;", name);
  text.line("sub.u32 %tests, %tests, 1;");
  text.line("setp.eq.u32 %lost, %tests, 0;");
  text.line("@%lost bra LOST;");
  text.line("bra {}_TEST;", name);
  text.line("{}_ARRIVED:", name);
}

void bulk_copy_kernel(PtxText& text) {
  prologue(text, ClusterOp::kBulkCopy, 1);
  text.raw(R"(
  .reg .b32 %slot, %slots, %copy_bytes, %parity, %wanted, %barrier, %tests, %into;
  .reg .b64 %from, %set_end;
)");
  load_parameter(text, "u64", "%from", offsetof(ClusterParameters, working_set));
  load_parameter(text, "u64", "%wide", offsetof(ClusterParameters, share_bytes));
  load_parameter(text, "u32", "%copy_bytes", offsetof(ClusterParameters, copy_bytes));
  load_parameter(text, "u32", "%slots", offsetof(ClusterParameters, in_flight));
  text.raw(R"(
  add.u64 %set_end, %from, %bytes;
  cvt.u64.u32 %stamp, %block;
  mad.lo.u64 %from, %wide, %stamp, %from;
  mov.u32 %slot, 0;
INIT:
  .pragma "nounroll";
  mad.lo.u32 %barrier, %slot, 8, %shared;
  mbarrier.init.shared::cta.b64 [%barrier], 1;
  add.u32 %slot, %slot, 1;
  setp.lt.u32 %more, %slot, %slots;
  @%more bra INIT;
  fence.mbarrier_init.release.cluster;
  mov.u32 %slot, 0;
  mov.u32 %parity, 0;
)");
  cluster_barrier(text);
  const auto round = [&] {
    text.line("xor.b32 %wanted, %parity, 1;");
    wait_for_slot(text, "SLOT");
    text.line("mad.lo.u32 %into, %slot, %copy_bytes, %shared;");
    text.line("add.u32 %into, %into, {};", kBulkBarrierBytes);
    text.line("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%barrier], %copy_bytes;");
    text.line(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%into], [%from], %copy_bytes, [%barrier];");
    text.raw(R"(
  cvt.u64.u32 %wide, %copy_bytes;
  add.u64 %from, %from, %wide;
  setp.ge.u64 %more, %from, %set_end;
  @%more sub.u64 %from, %from, %bytes;
  add.u32 %slot, %slot, 1;
  setp.eq.u32 %more, %slot, %slots;
  selp.u32 %slot, 0, %slot, %more;
  selp.u32 %parity, %wanted, %parity, %more;
)");
  };
  // As many copies as slots are under way at most, and each round ends with the first slot.
  const auto wait = [&] {
    text.line("xor.b32 %wanted, %parity, 1;");
    text.line("LAST:");
    text.line(".pragma \"nounroll\";");
    wait_for_slot(text, "LAST");
    text.line("add.u32 %slot, %slot, 1;");
    text.line("setp.lt.u32 %more, %slot, %slots;");
    text.line("@%more bra LAST;");
    text.line("mov.u32 %slot, 0;");
  };
  two_phases(text, round, wait);
  cluster_epilogue(text);
}

}  // namespace

std::string cluster_kernel_name(ClusterOp op) { return fmt::format("cluster_{}", to_string(op)); }

PtxTarget cluster_target(const PtxTarget& target, int driver_version) {
  constexpr int kFirstSm = 90;
  constexpr int kFirstDriver = 12000;  // whose PTX, 8.0, is the first with bulk copies
  if (target.sm < kFirstSm) {
    throw NotSupportedError(
        fmt::format("clusters and bulk copies need compute capability 9.0 (Hopper) or later; the kernels here are for "
                    "{}.{}",
                    target.sm / 10, target.sm % 10));
  }
  if (driver_version < kFirstDriver) {
    throw NotSupportedError("clusters and bulk copies need a driver for CUDA 12.0 or later; update the NVIDIA driver");
  }
  return target.ptx_major < 8 ? PtxTarget{8, 0, target.sm} : target;
}

std::string generate_cluster_ptx(const PtxTarget& target) {
  PtxText text;
  text.raw(module_header(target));
  cluster_chase_kernel(text);
  read_kernel(text);
  bulk_copy_kernel(text);
  return text.take();
}

}  // namespace gputopo::cuda
