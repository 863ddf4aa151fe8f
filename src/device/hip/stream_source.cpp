#include "device/hip/stream_source.h"

#include <fmt/format.h>

#include "device/hip/gfx_target.h"
#include "device/hip/source_text.h"

namespace gputopo::hip {
namespace {

using launch::BlockRecord;

struct Words {
  const char* type;    // of a vector, in the source
  const char* suffix;  // of vector instructions
  const char* ds;      // of LDS instructions
};

Words words_of(std::uint32_t vector_bytes) {
  switch (vector_bytes) {
    case 4:
      return {"u32", "dword", "b32"};
    case 8:
      return {"u64", "dwordx2", "b64"};
    default:
      return {"u128", "dwordx4", "b128"};
  }
}

// A vector access may not read a scalar register that a vector instruction wrote less than five cycles before (AMD's
// instruction set references, "Manually Inserted Wait States"). The compiler does not ensure this within assembly.
constexpr std::string_view kSettle = "s_nop 4\\n";

// A tile. Every thread moves loads_in_flight vectors, each one vector of the whole block apart; a wavefront's scalar
// loads lie side by side.
std::string read_tile(const GfxTarget& target, const StreamShape& shape) {
  const Words words = words_of(shape.vector_bytes);
  const bool scalar = shape.space == Space::kScalar;
  const bool shared = shape.space == Space::kShared;
  const char* modifier = shape.space == Space::kGlobalBypassL1 ? target.bypass.c_str() : "";
  std::string instructions;
  std::string outputs;
  std::string inputs;
  std::string declared;
  std::string used;
  for (std::uint32_t i = 0; i < shape.loads_in_flight; ++i) {
    declared += fmt::format("  {} value{} ;\n", words.type, i);
    if (scalar) {
      instructions += fmt::format("s_load_{} %[v{}], %[base], {:#x}\\n", words.suffix, i, i * shape.vector_bytes);
    } else if (shared) {
      instructions += fmt::format("ds_read_{} %[v{}], %[o{}]\\n", words.ds, i, i);
    } else {
      instructions += fmt::format("global_load_{} %[v{}], %[o{}], %[base] {}\\n", words.suffix, i, i, modifier);
    }
    outputs += fmt::format("{}[v{}] \"=&{}\"(value{})", i == 0 ? "" : ", ", i, scalar ? "s" : "v", i);
    if (!scalar) inputs += fmt::format("{}[o{}] \"v\"(origin + (at + {}u * row) % wrap)", i == 0 ? "" : ", ", i, i);
    used += fmt::format("  sum ^= first_word(value{});\n", i);
  }
  if (scalar) inputs = "[base] \"s\"(base + at * kInFlight % wrap)";
  if (!scalar && !shared) inputs += ", [base] \"s\"(base)";
  return fmt::format("{}  asm volatile(\"{}{}{}\" : {} : {} : \"memory\");\n{}", declared, kSettle, instructions,
                     scalar || shared ? "s_waitcnt lgkmcnt(0)" : "s_waitcnt vmcnt(0)", outputs, inputs, used);
}

// Writes what `value<i>` hold after a read, or the same value everywhere.
std::string write_tile(const GfxTarget& target, const StreamShape& shape) {
  const Words words = words_of(shape.vector_bytes);
  const bool shared = shape.space == Space::kShared;
  const bool copy = shape.op == StreamOp::kCopy;
  const char* modifier = shape.space == Space::kGlobalBypassL1 ? target.bypass.c_str() : "";
  std::string instructions;
  std::string inputs;
  for (std::uint32_t i = 0; i < shape.loads_in_flight; ++i) {
    const std::string value = copy ? fmt::format("[v{}]", i) : "[v0]";
    instructions += shared
                        ? fmt::format("ds_write_{} %[o{}], %{}\\n", words.ds, i, value)
                        : fmt::format("global_store_{} %[o{}], %{}, %[base] {}\\n", words.suffix, i, value, modifier);
    inputs += fmt::format("{}[o{}] \"v\"(target_origin + (at + {}u * row) % wrap)", i == 0 ? "" : ", ", i, i);
    if (copy || i == 0) inputs += fmt::format(", [v{}] \"v\"({})", i, copy ? fmt::format("value{}", i) : "filler");
  }
  if (!shared) inputs += ", [base] \"s\"(target)";
  return fmt::format("  asm volatile(\"{}{}{}\" : : {} : \"memory\");\n", kSettle, instructions,
                     shared ? "s_waitcnt lgkmcnt(0)" : "s_waitcnt vmcnt(0)", inputs);
}

constexpr std::string_view kStreamKernel = R"hip(
typedef unsigned int u128 __attribute__((ext_vector_type(4)));
DEVICE u32 first_word(u32 value) { return value; }
DEVICE u32 first_word(u64 value) { return (u32)value; }
DEVICE u32 first_word(u128 value) { return value.x; }

KERNEL void stream(u64 source, u64 target_array, u64 records, u64 slice_bytes, u64 tiles, u32 passes, u32 threads,
                   u32 blocks, u32 shift, u32 never, u32 wrap, u64 target_tiles) {
  const u32 thread = __builtin_amdgcn_workitem_id_x();
  const u32 block = __builtin_amdgcn_workgroup_id_x();
  const u32 unit = kOfWavefronts ? uniform32(thread / kWavefront) : thread;
  const u32 units = kOfWavefronts ? threads / kWavefront : threads;
  const u32 row = units * kVectorBytes;
  const u64 tile_bytes = (u64)row * kInFlight;
  const bool sliced = slice_bytes != 0;
  const u64 first = source + (kInLds ? 0 : block * slice_bytes);
  const u64 first_target = target_array + (kInLds ? 0 : block * slice_bytes);
  const u64 record = records + (u64)block * kBlockRecord_bytes;
  u32 sum = never;
  FILLER
  if (kInLds) {
    for (u32 i = thread; i < slice_bytes * kArrays / 4; i += threads) lds[i] = i;
  }
  barrier();
  if (thread == 0) {
    write64(record + kBlockRecord_start_ns, wall_clock());
    write64(record + kBlockRecord_start_cycles, clock());
  }
  #pragma clang loop unroll(disable)
  for (u32 pass = 0; pass < passes; ++pass) {
    // If there are many blocks, each moves on to another tile with each pass. Otherwise it would hit its own tile in vL1.
    u64 tile = sliced ? 0 : (block + (u64)pass * shift) % tiles;
    #pragma clang loop unroll(disable)
    for (u64 count = sliced ? tiles : (tiles - block + blocks - 1) / blocks; count != 0; --count) {
      const u64 base = uniform64(first + tile * tile_bytes);
      const u64 target = uniform64(first_target + (kArrays == 2 ? tile % target_tiles : tile) * tile_bytes);
      const u32 at = unit * kVectorBytes;
      const u32 origin = kInLds ? lds_address() + (u32)(tile * tile_bytes) : 0;
      const u32 target_origin = origin + (kInLds ? (u32)slice_bytes * (kArrays - 1) : 0);
@BODY@      tile += sliced ? 1 : blocks;
      if (tile >= tiles) tile -= tiles;
    }
  }
  barrier();
  if (thread == 0) {
    end_block(record);
    write32(record + kBlockRecord_sm, hardware_id());
  }
  if (sum == ~never) write32(record + kBlockRecord_sink, sum);
}
)hip";

}  // namespace

std::string generate_stream_source(const GfxTarget& target, const StreamShape& shape) {
  SourceText text(target);
  text.constant("kVectorBytes", shape.vector_bytes);
  text.constant("kInFlight", shape.loads_in_flight);
  text.constant("kArrays", shape.op == StreamOp::kCopy ? 2 : 1);
  text.constant("kOfWavefronts", shape.space == Space::kScalar ? 1 : 0);
  text.constant("kInLds", shape.space == Space::kShared ? 1 : 0);
  std::string kernel(kStreamKernel);
  std::string body;
  if (shape.op != StreamOp::kWrite) body += read_tile(target, shape);
  if (shape.op != StreamOp::kRead) body += write_tile(target, shape);
  replace_placeholder(
      kernel, "FILLER",
      shape.op == StreamOp::kWrite ? fmt::format("{} filler = {{}};", words_of(shape.vector_bytes).type) : "");
  replace_placeholder(kernel, "@BODY@", body);
  text.raw(kernel);
  return text.take();
}

}  // namespace gputopo::hip
