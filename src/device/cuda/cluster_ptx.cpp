#include "device/cuda/cluster_ptx.h"

#include "device/cuda/kernel_layout.h"
#include "device/cuda/ptx_phases.h"
#include "gputopo/error.h"

namespace gputopo::cuda {
namespace {

// Loads that a read keeps in flight before it uses any of them.
constexpr std::uint32_t kLoadsTogether = 4;
// Barrier tests until a copy counts as lost. Each test may itself wait a little.
constexpr std::uint32_t kMaxTests = 1u << 16;

constexpr std::string_view kClusterBarrier = "barrier.cluster.arrive.release;\nbarrier.cluster.wait.acquire;";

constexpr std::string_view kClusterRegisters = R"(
  .reg .pred %first_lane;
  .reg .b32 %thread_id, %threads, %block, %sm, %warps, %shared, %offset, %bytes32, %hop, %reader;
  .reg .b32 %rank, %ranks, %other, %window, %link;
  .reg .b64 %bytes, %warp_records, %wide, %stamp;)";

// Sets %window, the shared memory of the block that this one reads, and what all kernels with phases set.
void begin_cluster_kernel(PtxText& text, ClusterOp op, std::uint32_t threads) {
  begin_phase_kernel(text, {.name = cluster_kernel_name(op),
                            .parameters = "ClusterParameters",
                            .directives = fmt::format(".maxntid {}, 1, 1", threads),
                            .registers = kClusterRegisters,
                            .fields = "bytes records warp_records arrived hop reader"});
  text.add(R"(  mov.u32 %shared, dynamic_shared;
  mov.u32 %rank, %cluster_ctarank;
  mov.u32 %ranks, %cluster_nctarank;
  cvt.u32.u64 %bytes32, %bytes;
  setp.eq.u32 %first_thread, %thread_id, 0;
  and.b32 %other, %thread_id, 31;
  setp.eq.u32 %first_lane, %other, 0;
  add.u32 %warps, %threads, 31;
  shr.u32 %warps, %warps, 5;
  shr.u32 %other, %thread_id, 5;
  mad.lo.u32 %other, %block, %warps, %other;)");
  move_to_element(text, "%warp_records", "%other", "WarpRecord");
  begin_block_record(text);
  text.add(R"(
  add.u32 %other, %rank, %hop;
  rem.u32 %other, %other, %ranks;
  mapa.shared::cluster.u32 %window, %shared, %other;)");
}

void cluster_chase_kernel(PtxText& text) {
  begin_cluster_kernel(text, ClusterOp::kChase, 1);
  text.add(R"(.reg .b64 %start_pointer, %pointer, %next;
cvt.u64.u32 %start_pointer, %window;
cvta.shared::cluster.u64 %start_pointer, %start_pointer;
{cluster_barrier}
setp.eq.u32 %more, %rank, %reader;
@%more bra FILL;
mov.u32 %rounds, 0;
mov.u32 %timed_rounds, 0;
bra FILLED;
FILL:
mov.u32 %offset, 0;
mov.u64 %pointer, %start_pointer;
NEXT:
.pragma "nounroll";
add.u32 %offset, %offset, {hop_bytes};
add.u64 %next, %pointer, {hop_bytes};
setp.lt.u32 %more, %offset, %bytes32;
@!%more mov.u64 %next, %start_pointer;
st.u64 [%pointer], %next;
mov.u64 %pointer, %next;
@%more bra NEXT;
FILLED:
mov.u64 %pointer, %start_pointer;
{cluster_barrier})",
           {{"cluster_barrier", kClusterBarrier}, {"hop_bytes", kClusterHopBytes}});
  const auto round = [&] {
    for (std::uint32_t i = 0; i < kClusterUnroll; ++i) text.add("ld.u64 %pointer, [%pointer];");
  };
  two_phases(text, round, [&] { text.add("setp.eq.u64 %lost, %pointer, 0;\n@%lost bra LOST;"); });
  end_phase_kernel(text, kClusterBarrier);
}

void read_kernel(PtxText& text) {
  begin_cluster_kernel(text, ClusterOp::kRead, 32 * kMaxAccessWarps);
  text.add(R"(
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
mul.lo.u32 %offset, %thread_id, {read_bytes};
mul.lo.u32 %step, %threads, {read_bytes};
.reg .b32 %word<{words}>;
{cluster_barrier})",
           {{"read_bytes", kClusterReadBytes}, {"words", 4 * kLoadsTogether}, {"cluster_barrier", kClusterBarrier}});
  const auto round = [&] {
    for (std::uint32_t i = 0; i < kClusterUnroll; i += kLoadsTogether) {
      for (std::uint32_t word = 0; word < 4 * kLoadsTogether; word += 4) {
        text.add(R"(add.u32 %link, %window, %offset;
ld.shared::cluster.v4.u32 {%word{w0}, %word{w1}, %word{w2}, %word{w3}}, [%link];
add.u32 %offset, %offset, %step;
and.b32 %offset, %offset, %mask;)",
                 {{"w0", word}, {"w1", word + 1}, {"w2", word + 2}, {"w3", word + 3}});
      }
      for (std::uint32_t word = 0; word < 4 * kLoadsTogether; ++word) text.line("xor.b32 %sum, %sum, %word{};", word);
    }
  };
  two_phases(text, round, [&] { text.add("setp.eq.u32 %lost, %sum, %never;\n@%lost bra LOST;"); });
  end_phase_kernel(text, kClusterBarrier);
}

// Waits for the copy into %slot that was issued with parity %wanted. Returns at once if there was none yet.
void wait_for_slot(PtxText& text, std::string_view name) {
  text.add(R"(mad.lo.u32 %barrier, %slot, 8, %shared;
mov.u32 %tests, {max_tests};
{name}_TEST:
mbarrier.try_wait.parity.shared::cta.b64 %more, [%barrier], %wanted;
@%more bra {name}_ARRIVED;
sub.u32 %tests, %tests, 1;
setp.eq.u32 %lost, %tests, 0;
@%lost bra LOST;
bra {name}_TEST;
{name}_ARRIVED:)",
           {{"max_tests", kMaxTests}, {"name", name}});
}

void bulk_copy_kernel(PtxText& text) {
  begin_cluster_kernel(text, ClusterOp::kBulkCopy, 1);
  text.add(R"(
  .reg .b32 %slot, %slots, %copy_bytes, %parity, %wanted, %barrier, %tests, %into;
  .reg .b64 %from, %set_end;)");
  load_parameters(text, "ClusterParameters", "from=working_set wide=share_bytes copy_bytes slots=in_flight");
  text.add(R"(
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
  mov.u32 %parity, 0;)");
  text.add(kClusterBarrier);
  const auto round = [&] {
    text.add("xor.b32 %wanted, %parity, 1;");
    wait_for_slot(text, "SLOT");
    text.add(R"(mad.lo.u32 %into, %slot, %copy_bytes, %shared;
add.u32 %into, %into, {barrier_bytes};
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%barrier], %copy_bytes;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%into], [%from], %copy_bytes, [%barrier];

  cvt.u64.u32 %wide, %copy_bytes;
  add.u64 %from, %from, %wide;
  setp.ge.u64 %more, %from, %set_end;
  @%more sub.u64 %from, %from, %bytes;
  add.u32 %slot, %slot, 1;
  setp.eq.u32 %more, %slot, %slots;
  selp.u32 %slot, 0, %slot, %more;
  selp.u32 %parity, %wanted, %parity, %more;)",
             {{"barrier_bytes", kBulkBarrierBytes}});
  };
  // Each slot may have a copy in flight. The first slot is next, because the copies are a multiple of the slots.
  const auto wait = [&] {
    text.add(R"(xor.b32 %wanted, %parity, 1;
LAST:
.pragma "nounroll";)");
    wait_for_slot(text, "LAST");
    text.add(R"(add.u32 %slot, %slot, 1;
setp.lt.u32 %more, %slot, %slots;
@%more bra LAST;
mov.u32 %slot, 0;)");
  };
  two_phases(text, round, wait);
  end_phase_kernel(text, kClusterBarrier);
}

}  // namespace

std::string cluster_kernel_name(ClusterOp op) { return fmt::format("cluster_{}", to_string(op)); }

PtxTarget cluster_target(const PtxTarget& target, int driver_version) {
  constexpr int kFirstSm = 90;
  constexpr int kFirstDriver = 12000;  // its PTX 8.0 is the first with bulk copies
  if (target.sm < kFirstSm) {
    throw NotSupportedError(
        fmt::format("clusters and bulk copies need compute capability 9.0 (Hopper) or later; this GPU and its driver "
                    "support {}.{}",
                    target.sm / 10, target.sm % 10));
  }
  if (driver_version < kFirstDriver) {
    throw NotSupportedError("clusters and bulk copies need a driver for CUDA 12.0 or later; update the NVIDIA driver");
  }
  return target.ptx_major < 8 ? PtxTarget{8, 0, target.sm} : target;
}

std::string generate_cluster_ptx(const PtxTarget& target) {
  PtxText text(target);
  cluster_chase_kernel(text);
  read_kernel(text);
  bulk_copy_kernel(text);
  return text.take();
}

}  // namespace gputopo::cuda
