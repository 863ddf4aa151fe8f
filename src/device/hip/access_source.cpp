#include "device/hip/access_source.h"

#include <fmt/format.h>

#include <cstddef>

#include "device/hip/gfx_target.h"
#include "device/hip/source_text.h"
#include "device/launch/access_kernels.h"

namespace gputopo::hip {
namespace {

using namespace launch;

// One access in assembly. The register with the last result is %[value], or %[link] for loads.
std::string access_of(const GfxTarget& target, const AccessKernel& kernel) {
  if (kernel.shared()) {
    std::string store = "ds_write_b32 %[link], %[value]\\n";
    switch (kernel.op) {
      case AccessOp::kLoad:
        if (kernel.load_bytes == 8) return "ds_read_b64 v[8:9], v8\\n";
        if (kernel.load_bytes == 16) return "ds_read_b128 v[8:11], v8\\n";
        return "ds_read_b32 %[link], %[link]\\n";
      case AccessOp::kStore:
        return store;
      case AccessOp::kStoreLoad:
        return store + "ds_read_b32 %[value], %[link]\\n";
      case AccessOp::kAtomicAdd:
        return "ds_add_rtn_u32 %[value], %[link], %[value]\\n";
    }
  }
  const std::string bypass = kernel.space == Space::kGlobalBypassL1 ? " " + target.bypass : "";
  std::string store = "global_store_dword %[link], %[value], off" + bypass + "\\n";
  switch (kernel.op) {
    case AccessOp::kLoad:
      return "global_load_dwordx2 %[link], %[link], off" + bypass + "\\n";
    case AccessOp::kStore:
      return store;
    case AccessOp::kStoreLoad:
      return store + "global_load_dword %[value], %[link], off" + bypass + "\\n";
    case AccessOp::kAtomicAdd:
      break;
  }
  return "global_atomic_add %[value], %[link], %[value], off " + target.returning + "\\n";
}

std::string chain_of(const GfxTarget& target, const AccessKernel& kernel) {
  const std::string wait = kernel.shared() ? "s_waitcnt lgkmcnt(0)\\n" : "s_waitcnt vmcnt(0)\\n";
  const std::string access = (kernel.op == AccessOp::kStore ? "" : wait) + access_of(target, kernel);
  std::string accesses;
  for (std::uint32_t i = 0; i < kAccessUnroll; ++i) accesses += access;
  // After stores, the last word is read back.
  const std::string last = kernel.op == AccessOp::kStore
                               ? access_of(target, {AccessOp::kStoreLoad, kernel.space}).substr(access.size())
                               : std::string();
  // Wide loads need consecutive registers, which must be named. The first of them is the link.
  const bool wide = kernel.load_bytes != 0;
  return fmt::format(
      R"hip(
      asm volatile(
          "{3}{6}
          "{0}"
          "s_sub_u32 %[rounds], %[rounds], 1\n"
          "s_cmp_lg_u32 %[rounds], 0\n"
          "s_cbranch_scc1 1b\n"
          "{1}{2}"
          "s_memtime %[end]\n"
          "s_waitcnt lgkmcnt(0)\n{4}"
          : [link] "+v"(link), [value] "+v"(value), [rounds] "+s"(left), [timer] "=&s"(timer), [start] "=&s"(start),
            [end] "=&s"(end)
          : : "memory", "scc"{5});)hip",
      accesses, last, wait, wide ? "v_mov_b32 v8, %[link]\\n" : "", wide ? "v_mov_b32 %[link], v8\\n" : "",
      wide ? R"(, "v8", "v9", "v10", "v11")" : "", kReadClock);
}

constexpr std::string_view kFill = R"hip(
// Writes the links of a working set. Each thread of the grid takes every n-th word, n being the number of threads.
KERNEL void fill_links(Parameters p, u32 blocks, u32 threads) {
  const u64 first = (u64)__builtin_amdgcn_workgroup_id_x() * threads + __builtin_amdgcn_workitem_id_x();
  for (u64 offset = 8 * first; offset < p.bytes; offset += 8ull * blocks * threads) {
    const u64 link = offset + p.hop_bytes;
    write64(p.working_set + offset, p.working_set + (link >= p.bytes ? link - p.bytes : link));
  }
}
)hip";

// {0}: name; {1}: type of a link; {2}: fill of LDS; {3}: where a lane begins; {4}: the chain; {5}: condition of a lost
// chain; {6} and {7}: the first and the last lines.
constexpr std::string_view kAccessKernel = R"hip(
KERNEL void {0}(Parameters p, u32 blocks, u32 threads) {{{6}{2}  {1} link = {3};
  u32 value = 0;
  u64 timer = 0, start = 0, end = 0;
  #pragma clang loop unroll(disable)
  for (u32 phase = 0; phase < 2; ++phase) {{
    common_start(p, blocks, (phase + 1) * blocks, first_thread, record);
    u32 left = uniform32(phase == 0 ? p.warm_rounds : p.rounds);
    if (left != 0) {{{4}
    }}
    if ({5}) {{
      write32(record + kBlockRecord_error, kChainLost);
      break;
    }}
  }}{7})hip";

std::string kernel_of(const GfxTarget& target, const AccessKernel& kernel) {
  const bool load = kernel.op == AccessOp::kLoad;
  const std::string fill = fmt::format(
      "  for (u32 offset = 4 * thread; offset < (u32)p.bytes; offset += 4 * threads) {{\n"
      "    lds[offset / 4] = {};\n"
      "  }}\n",
      load ? "lds_address() + (offset + (u32)p.hop_bytes) % (u32)p.bytes" : "0");
  const char* begin = kernel.shared() ? "lds_address() + (warp * p.warp_stride + lane * p.lane_stride) % (u32)p.bytes"
                                      : "p.working_set + ((u64)(block * warps + warp) * p.warp_stride + "
                                        "(u64)lane * p.lane_stride) % p.bytes";
  const char* lost = kernel.has_pointers() ? "link == 0" : load ? "link == kNoLink" : "value == p.never";
  return fmt::format(fmt::runtime(kAccessKernel), kernel.name(), kernel.shared() ? "u32" : "u64",
                     kernel.shared() ? fill : "", begin, chain_of(target, kernel), lost, kBeginChains, kEndChains);
}

}  // namespace

std::string generate_access_source(const GfxTarget& target) {
  SourceText text(target);
  constexpr std::string_view kFields =
      "working_set bytes hop_bytes records warp_records arrived claims lane_stride warp_stride warm_rounds rounds "
      "never longest_wait_cycles";
  text.constant("kChainLost", kChainLost);
  text.constant("kStartedApart", kStartedApart);
  text.constant("kNoLink", kNoLink);
  text.offsets("AccessParameters", kFields);
  text.offsets("WarpRecord", "start_cycles end_cycles timer_cycles");
  text.size_of("WarpRecord");
  text.parameters("AccessParameters", R"hip(  u64 working_set, bytes, hop_bytes, records, warp_records, arrived, claims;
  u32 lane_stride, warp_stride, warm_rounds, rounds, never, longest_wait_cycles;)hip",
                  kFields);
  text.raw(kStartTogether);
  text.raw(kFill);
  for (const AccessKernel& kernel : kAccessKernels) {
    if (!kernel.constant()) text.raw(kernel_of(target, kernel));
  }
  return text.take();
}

}  // namespace gputopo::hip
