#include "device/hip/source_text.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "device/launch/kernel_fields.h"
#include "device/launch/kernel_layout.h"
#include "gputopo/error.h"
#include "program/text.h"

namespace gputopo::hip {
namespace {

// HW_ID: CU in bits 8 to 11, shader engine from bit 13 on; XCC_ID on GPUs with several dies (AMD's instruction set
// references of MI100, MI200 and MI300, "Hardware registers").
constexpr std::uint32_t kHwId = 4;
constexpr std::uint32_t kXccId = 20;
constexpr std::uint32_t kCuBit = 8;
constexpr std::uint32_t kEngineBit = 13;
constexpr std::uint32_t kXccBits = 4;
constexpr std::uint32_t kMaxEngineBits = 3;
static_assert(1u << (kXccBits + kMaxEngineBits + kCuBits) <= launch::kHardwareIds);

constexpr std::uint32_t register_field(std::uint32_t id, std::uint32_t bit, std::uint32_t bits) {
  return (bits - 1) << 11 | bit << 6 | id;
}

constexpr std::string_view kPrelude = R"hip(
// hiprtc declares its own functions before this text, such as clock().
namespace gputopo_kernels {
typedef unsigned int u32;
typedef unsigned long long u64;
#define KERNEL extern "C" __attribute__((global)) __attribute__((amdgpu_flat_work_group_size(64, 1024)))
#define DEVICE static inline __attribute__((device)) __attribute__((always_inline))
extern __attribute__((shared)) u32 lds[];

// Scalar loads return in any order. The wait before a reading is for loads into the same registers that the compiler
// has issued: if one returned later, it would overwrite the reading.
DEVICE u64 clock() {
  u64 cycles;
  asm volatile("s_waitcnt lgkmcnt(0)\n s_memtime %0\n s_waitcnt lgkmcnt(0)" : "=s"(cycles) : : "memory");
  return cycles;
}
DEVICE u64 wall_clock() {
  u64 ticks;
  asm volatile("s_waitcnt lgkmcnt(0)\n s_memrealtime %0\n s_waitcnt lgkmcnt(0)" : "=s"(ticks) : : "memory");
  return ticks;
}
DEVICE void barrier() {
  asm volatile("s_waitcnt vmcnt(0) lgkmcnt(0)" : : : "memory");
  __builtin_amdgcn_s_barrier();
  asm volatile("" : : : "memory");
}
DEVICE u32 uniform32(u32 value) { return __builtin_amdgcn_readfirstlane(value); }
DEVICE u64 uniform64(u64 value) {
  return (u64)uniform32((u32)(value >> 32)) << 32 | uniform32((u32)value);
}
DEVICE u32 lds_address() { return (u32)(__UINTPTR_TYPE__)(__attribute__((address_space(3))) u32*)lds; }
DEVICE u32 read_global(u64 at) {
  u32 value;
  asm volatile("global_load_dword %0, %1, off\n s_waitcnt vmcnt(0)" : "=&v"(value) : "v"(at) : "memory");
  return value;
}
DEVICE u32 read_shared(u64 at) {
  u32 value;
  asm volatile("ds_read_b32 %0, %1\n s_waitcnt lgkmcnt(0)" : "=&v"(value) : "v"((u32)at) : "memory");
  return value;
}
)hip";

// Accesses with the target's cache bits.
constexpr std::string_view kBypassing = R"hip(
DEVICE u32 read_global_bypass_l1(u64 at) {{
  u32 value;
  asm volatile("global_load_dword %0, %1, off {0}\n s_waitcnt vmcnt(0)" : "=&v"(value) : "v"(at) : "memory");
  return value;
}}
DEVICE u32 read32(u64 at) {{ return read_global_bypass_l1(at); }}
DEVICE u64 read64(u64 at) {{
  u64 value;
  asm volatile("global_load_dwordx2 %0, %1, off {0}\n s_waitcnt vmcnt(0)" : "=&v"(value) : "v"(at) : "memory");
  return value;
}}
DEVICE void write32(u64 at, u32 value) {{
  asm volatile("global_store_dword %0, %1, off {0}\n s_waitcnt vmcnt(0)" : : "v"(at), "v"(value) : "memory");
}}
DEVICE void write64(u64 at, u64 value) {{
  asm volatile("global_store_dwordx2 %0, %1, off {0}\n s_waitcnt vmcnt(0)" : : "v"(at), "v"(value) : "memory");
}}
// Sets a word to 1 and returns its previous value.
DEVICE u32 take(u64 at) {{
  return __hip_atomic_exchange((u32*)at, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}}
// Die, shader engine and CU.
DEVICE u32 hardware_id() {{
  const u32 cu = __builtin_amdgcn_s_getreg({1});
  const u32 engine = __builtin_amdgcn_s_getreg({2});
  const u32 die = {3};
  return (die << {5} | engine) << {4} | cu;
}}
)hip";

// Functions by which one thread of a block writes its record. They stand behind the offsets of BlockRecord's fields.
constexpr std::string_view kBlockRecords = R"hip(
DEVICE void begin_block(u64 record, u32 sm) {
  write32(record + kBlockRecord_sm, sm);
  write64(record + kBlockRecord_start_ns, wall_clock());
  write64(record + kBlockRecord_start_cycles, clock());
}
DEVICE void end_block(u64 record) {
  write64(record + kBlockRecord_end_ns, wall_clock());
  write64(record + kBlockRecord_end_cycles, clock());
}
)hip";

}  // namespace

const std::string_view kStartTogether = R"hip(
// Returns the number of this block among those that take part; `blocks` or more if another block has its CU.
DEVICE u32 claim(const Parameters& p, u32 blocks, bool first_thread) {
  if (p.claims == 0) return __builtin_amdgcn_workgroup_id_x();
  if (first_thread) {
    const bool taken = take(p.claims + 4 * (u64)(1 + hardware_id())) != 0;
    lds[0] = taken ? blocks : __hip_atomic_fetch_add((u32*)p.claims, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  }
  barrier();
  const u32 block = uniform32(lds[0]);
  barrier();
  return block;
}

// Lets all blocks continue at the same time. `target` is the number of arrivals to wait for. Returns false in the first
// thread of a block if the other blocks did not arrive in time.
DEVICE bool common_start(const Parameters& p, u32 blocks, u32 target, bool first_thread, u64 record) {
  bool together = true;
  barrier();
  if (first_thread && blocks > 1) {
    __hip_atomic_fetch_add((u32*)p.arrived, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    const u64 begin = clock();
    while (read32(p.arrived) < target) {
      if (clock() - begin > p.longest_wait_cycles) {
        write32(record + kBlockRecord_error, kStartedApart);
        together = false;
        break;
      }
    }
  }
  barrier();
  return together;
}

)hip";

const std::string_view kBeginChains = R"hip(
  const u32 thread = __builtin_amdgcn_workitem_id_x();
  const bool first_thread = thread == 0;
  const u32 block = claim(p, blocks, first_thread);
  if (block >= blocks) return;
  const u32 lane = thread % kWavefront;
  const u32 warp = uniform32(thread / kWavefront);
  const u32 warps = threads / kWavefront;
  const u64 record = p.records + (u64)block * kBlockRecord_bytes;
  const u64 warp_record = p.warp_records + (u64)(block * warps + warp) * kWarpRecord_bytes;
  if (first_thread) begin_block(record, hardware_id());
)hip";

const std::string_view kEndChains = R"hip(
  if (lane == 0) {
    write64(warp_record + kWarpRecord_start_cycles, start);
    write64(warp_record + kWarpRecord_end_cycles, end);
    write64(warp_record + kWarpRecord_timer_cycles, start - timer);
  }
  barrier();
  if (first_thread) end_block(record);
}
)hip";

const std::string_view kReadClock = R"hip(s_waitcnt vmcnt(0) lgkmcnt(0)\n"
          "s_memtime %[timer]\n"
          "s_waitcnt lgkmcnt(0)\n"
          "s_memtime %[start]\n"
          "s_waitcnt lgkmcnt(0)\n"
          "1:\n")hip";

SourceText::SourceText(const GfxTarget& target) : text_(kPrelude) {
  const std::uint32_t engine_bits = target.engine_bits;
  text_ += fmt::format(
      kBypassing, target.bypass, register_field(kHwId, kCuBit, kCuBits), register_field(kHwId, kEngineBit, engine_bits),
      target.has_xcc_id ? fmt::format("__builtin_amdgcn_s_getreg({})", register_field(kXccId, 0, kXccBits)) : "0",
      kCuBits, engine_bits);
  constant("kWavefront", kWavefront);
  offsets("BlockRecord", "start_cycles end_cycles start_ns end_ns sm claimed error sink");
  size_of("BlockRecord");
  raw(kBlockRecords);
}

void SourceText::offsets(std::string_view type, std::string_view fields) {
  for (const std::string_view field : text::split(fields, ' ')) {
    constant(fmt::format("k{}_{}", type, field), launch::kernel_field(fmt::format("{}.{}", type, field)).offset);
  }
}

void SourceText::size_of(std::string_view type) {
  constant(fmt::format("k{}_bytes", type), launch::kernel_field(type).bytes);
}

void SourceText::parameters(std::string_view type, std::string_view members, std::string_view fields) {
  text_ += fmt::format(R"hip(
struct Parameters {{
{}
}};
#define SAME_PLACE(field) \
  static_assert(__builtin_offsetof(Parameters, field) == k{}_##field, "parameters of the host")
)hip",
                       members, type);
  for (const std::string_view field : text::split(fields, ' ')) text_ += fmt::format("SAME_PLACE({});\n", field);
}

}  // namespace gputopo::hip
