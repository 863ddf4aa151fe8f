#include "device/hip/transfer_source.h"

#include "device/hip/gfx_target.h"
#include "device/hip/source_text.h"
#include "gputopo/program/transfer.h"

namespace gputopo::hip {
namespace {

// A thread has kInFlight vectors in flight. The cache bits for the whole system make an access that no cache of this
// GPU answers (AMD's instruction set references of CDNA3 and before, "Memory scopes").
constexpr std::string_view kStreams = R"hip(
typedef unsigned int u128 __attribute__((ext_vector_type(4)));
static constexpr u32 kInFlight = 8;

KERNEL void read(u64 memory, u64 bytes, u32 passes, u32 word, u64 sink) {
  const u64 threads = (u64)kThreads * kGrid;
  const u64 first = (u64)__builtin_amdgcn_workgroup_id_x() * kThreads + __builtin_amdgcn_workitem_id_x();
  const u128* const vectors = (const u128*)memory;
  const u64 count = bytes / sizeof(u128);
  u32 sum = 0;
  for (u32 pass = 0; pass < passes; ++pass) {
    for (u64 at = first; at < count; at += threads * kInFlight) {
      u128 values[kInFlight];
#pragma unroll
      for (u32 i = 0; i < kInFlight; ++i) {
        const u64 place = at + i * threads;
        values[i] = place < count ? __builtin_nontemporal_load(vectors + place) : u128{0, 0, 0, 0};
      }
#pragma unroll
      for (u32 i = 0; i < kInFlight; ++i) sum ^= values[i].x ^ values[i].y ^ values[i].z ^ values[i].w;
    }
    asm volatile("" : "+v"(sum) : : "memory");
  }
  // The compiler cannot know that the sum differs from this word.
  if (sum == word) write32(sink, sum);
}

KERNEL void write(u64 memory, u64 bytes, u32 passes, u32 word, u64 sink) {
  const u64 threads = (u64)kThreads * kGrid;
  const u64 first = (u64)__builtin_amdgcn_workgroup_id_x() * kThreads + __builtin_amdgcn_workitem_id_x();
  u128* const vectors = (u128*)memory;
  const u64 count = bytes / sizeof(u128);
  const u128 value = {word, word, word, word};
  for (u32 pass = 0; pass < passes; ++pass) {
    for (u64 at = first; at < count; at += threads) __builtin_nontemporal_store(value, vectors + at);
    asm volatile("" : : : "memory");
  }
  if (passes == 0) write32(sink, word);
}
)hip";

// One thread of each block follows the chain from its own place: `warm` accesses, then `count` timed ones. The record
// of a block is the time of the timed ones, in ticks of the wall clock.
constexpr std::string_view kChase = R"hip(
DEVICE u64 follow_{0}(u64 at) {{
  u64 next;
  asm volatile("{1}\n s_waitcnt vmcnt(0)" : "=&v"(next) : "v"(at), "v"((u64)0) : "memory");
  return next;
}}
KERNEL void {0}(u64 memory, u64 span, u32 warm, u32 count, u64 records) {{
  if (__builtin_amdgcn_workitem_id_x() != 0) return;
  const u64 block = __builtin_amdgcn_workgroup_id_x();
  u64 next = memory + block * span;
#pragma clang loop unroll(disable)
  for (u32 i = 0; i < warm; ++i) next = follow_{0}(next);
  const u64 start = wall_clock();
#pragma clang loop unroll(disable)
  for (u32 i = 0; i < count; ++i) next = follow_{0}(next);
  const u64 end = wall_clock();
  write64(records + block * 8, next == 0 ? 0 : end - start);
}}
)hip";

// One thread stores, waits until the store is visible to the whole system, and moves on to another line.
constexpr std::string_view kStore = R"hip(
KERNEL void store(u64 memory, u64 lines, u32 count, u64 records) {{
  if (__builtin_amdgcn_workitem_id_x() != 0) return;
  u64 line = 0;
  const u64 start = wall_clock();
#pragma clang loop unroll(disable)
  for (u32 i = 0; i < count; ++i) {{
    const u64 at = memory + line * kTransferStride;
    asm volatile("global_store_dwordx2 %0, %1, off {0}\n s_waitcnt vmcnt(0)" : : "v"(at), "v"((u64)1) : "memory");
    line = line + 1 == lines ? 0 : line + 1;
  }}
  const u64 end = wall_clock();
  write64(records, end - start);
}}
)hip";

}  // namespace

std::string generate_transfer_source(const GfxTarget& target, const TransferShape& shape) {
  SourceText text(target);
  text.constant("kThreads", shape.threads);
  text.constant("kGrid", shape.blocks);
  text.constant("kTransferStride", kTransferStride);
  text.raw(kStreams);
  const auto chase = [&](std::string_view kernel, std::string_view access, const std::string& bits) {
    text.raw(fmt::format(kChase, kernel, fmt::format("{}, off {}", access, bits)));
  };
  chase("load", "global_load_dwordx2 %0, %1", target.of_system);
  chase("atomic", "global_atomic_add_x2 %0, %1, %2", target.returning + target.atomic_of_system);
  chase("atomic_of_gpu", "global_atomic_add_x2 %0, %1, %2", target.returning);
  text.raw(fmt::format(kStore, target.of_system));
  return text.take();
}

}  // namespace gputopo::hip
