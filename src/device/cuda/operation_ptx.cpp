// The kernels that run operation programs: straight lines of the operations of operations.def, chained. What the timing
// depends on:
// - The phases, and what stands around the readings of the clock (ptx_phases.h).
// - Operands come from memory, through an address that the compiler takes for another in every lane: or it would know
//   their values, or compute once for the whole warp. Those that a chain begins with are volatile loads: chains that
//   began alike would be one.
// - What the chains end with is used, all of its bits.
#include "device/cuda/operation_ptx.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <boost/algorithm/string/replace.hpp>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "device/cuda/kernel_layout.h"
#include "device/cuda/ptx_phases.h"
#include "device/cuda/ptx_text.h"
#include "device/cuda/tensor_memory_ptx.h"
#include "gputopo/error.h"
#include "operation/capability.h"

namespace gputopo::cuda {
namespace {

using launch::kFactorBytes;
using launch::kRowFactorBytes;
using launch::OperationShape;
using launch::results_kept;

// All lanes hold the same. What the compiler takes for a branch that lanes may leave by has it write operations among
// the lanes of a warp twice, behind instructions that gather these.
constexpr std::string_view kLeave = "bra.uni";

constexpr std::string_view kFixedNames = "abcef";  // of OperationOperands::fixed

bool of_tensor_memory(const OperationShape& shape) {
  return info_of(shape.operation).type == OperandType::kTensorMemory;
}
bool of_four_warps(const OperationShape& shape) { return warps_together(info_of(shape.operation).type) > 1; }
bool of_warpgroup(const OperationShape& shape) { return of_four_warps(shape) && !of_tensor_memory(shape); }

void prologue(PtxText& text, std::string_view name, std::uint32_t most_warps) {
  kernel_line(text, name, sizeof(OperationParameters));
  text.line(".maxntid {}, 1, 1", 32 * most_warps);
  text.line("{{");
  declare_phase_registers(text);
  text.raw(R"(
  .reg .pred %first_lane, %always;
  .reg .b32 %thread_id, %threads, %block, %sm, %lane, %mask, %one, %value, %word;
  .reg .b64 %operands, %warp_records, %wide, %stamp;
)");
  load_parameter(text, "u64", "%operands", offsetof(OperationParameters, operands));
  load_parameter(text, "u64", "%records", offsetof(OperationParameters, records));
  load_parameter(text, "u64", "%warp_records", offsetof(OperationParameters, warp_records));
  load_parameter(text, "u64", "%arrived", offsetof(OperationParameters, arrived));
  load_parameter(text, "u32", "%mask", offsetof(OperationParameters, lane_mask));
  load_parameter(text, "u32", "%rounds", offsetof(OperationParameters, warm_rounds));
  load_parameter(text, "u32", "%timed_rounds", offsetof(OperationParameters, rounds));
  load_parameter(text, "u32", "%never", offsetof(OperationParameters, never));
  load_parameter(text, "u32", "%longest", offsetof(OperationParameters, longest_wait_cycles));
  text.raw(R"(
  mov.u32 %thread_id, %tid.x;
  mov.u32 %threads, %ntid.x;
  mov.u32 %block, %ctaid.x;
  mov.u32 %blocks, %nctaid.x;
  mov.u32 %sm, %smid;
  and.b32 %lane, %thread_id, 31;
  setp.eq.u32 %first_thread, %thread_id, 0;
  setp.eq.u32 %first_lane, %lane, 0;
  mad.lo.u32 %word, %block, %threads, %thread_id;
  shr.u32 %word, %word, 5;
)");
  text.line("mul.wide.u32 %wide, %word, {};", sizeof(WarpRecord));
  text.line("add.u64 %warp_records, %warp_records, %wide;");
  text.line("mul.wide.u32 %wide, %block, {};", sizeof(BlockRecord));
  text.line("add.u64 %records, %records, %wide;");
  text.line("@%first_thread st.global.u32 [%records + {}], %sm;", offsetof(BlockRecord, sm));
  stamp_clocks(text, "%records", offsetof(BlockRecord, start_cycles), offsetof(BlockRecord, start_ns));
  text.line("and.b32 %mask, %mask, %thread_id;");
  text.line("mul.wide.u32 %wide, %mask, {};", sizeof(OperationOperands));
  text.line("add.u64 %operands, %operands, %wide;");
  text.line("ld.global.u32 %one, [%operands + {}];", offsetof(OperationOperands, one));
  text.line("setp.ne.u32 %always, %one, 0;");
}

// Of the `index`-th of the results that a chain keeps.
std::vector<std::string> result_registers(const OperationShape& shape, std::uint32_t stream, std::uint32_t index) {
  const std::uint32_t count = registers_of(shape.operation_of(stream).type);
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < count; ++i) {
    names.push_back(fmt::format("%x{}_{}{}", stream, index, count == 1 ? "" : fmt::format("_{}", i)));
  }
  return names;
}

// As an operand.
std::string result(const OperationShape& shape, std::uint32_t stream, std::uint32_t index) {
  if (of_tensor_memory(shape)) return "%accumulators";
  const std::vector<std::string> names =
      result_registers(shape, stream, index % results_kept(shape.operation_of(stream).type));
  return names.size() == 1 ? names.front() : fmt::format("{{{}}}", fmt::join(names, ", "));
}

// The registers of a chain, and what they begin with.
void begin_chain(PtxText& text, const OperationShape& shape, std::uint32_t stream) {
  const std::uint32_t bits = bits_of(shape.operation_of(stream).type);
  const std::size_t of_beside = shape.beside && stream % 2 == 1 ? sizeof(OperationOperands) : 0;
  text.line(".reg .pred %p{};", stream);
  text.line(".reg .b16 %h{0}, %g{0};", stream);
  text.line(".reg .b32 %t{0}, %u{0};", stream);
  text.line(".reg .b64 %w{};", stream);
  for (std::uint32_t i = 0; i < results_kept(shape.operation_of(stream).type); ++i) {
    for (const std::string& reg : result_registers(shape, stream, i)) {
      text.line(".reg .b{} {};", bits, reg);
      text.line("ld.volatile.global.u{} {}, [%operands + {}];", bits, reg,
                of_beside + offsetof(OperationOperands, chain) + i * sizeof(std::uint64_t));
    }
  }
}

// The operands that stay, of the operation or of the one beside it.
void load_fixed(PtxText& text, OperandType type, std::uint32_t which) {
  const std::uint32_t bits = bits_of(type);
  for (std::size_t i = 0; i < kFixedNames.size(); ++i) {
    text.line(".reg .b{} %{}{};", bits, kFixedNames[i], which);
    text.line("ld.global.u{} %{}{}, [%operands + {}];", bits, kFixedNames[i], which,
              which * sizeof(OperationOperands) + offsetof(OperationOperands, fixed) + i * sizeof(std::uint64_t));
  }
}

// Of a matrix at an offset of the shared memory, as groups of 8 rows (columns of the second factor) of 16 bytes, which
// lie one after another, those of the next rows after them (PTX ISA, "Matrix descriptor": no swizzling).
// `version`: of the descriptor.
void describe_matrix(PtxText& text, char name, std::uint32_t offset, std::uint32_t row_bytes, std::uint64_t version) {
  constexpr std::uint64_t kGroupBytes = 128;
  const std::uint64_t strides = kGroupBytes >> 4 << 16 | (row_bytes / 16 * kGroupBytes >> 4) << 32 | version << 46;
  text.line(".reg .b64 %matrix_{};", name);
  text.line("add.u32 %word, %factors, {};", offset);
  text.line("shr.u32 %word, %word, 4;");
  text.line("cvt.u64.u32 %matrix_{}, %word;", name);
  text.line("or.b64 %matrix_{0}, %matrix_{0}, {1:#x};", name, strides);
}

// Factors in shared memory: by chance, for equal ones take much less power than those of programs. Bits that are
// ordinary numbers of every type that a unit may take them for: as f16 from 0.5 to 1 and their negatives.
void fill_factors(PtxText& text, std::uint64_t version) {
  text.line(".reg .b32 %factors, %place, %end_of_factors, %mixed;");
  text.line("mov.u32 %factors, dynamic_shared;");
  text.line("add.u32 %end_of_factors, %factors, {};", kFactorBytes);
  text.line("shl.b32 %place, %thread_id, 2;");
  text.line("add.u32 %place, %place, %factors;");
  text.line("shl.b32 %word, %threads, 2;");
  text.line("FILL:");
  text.line("mul.lo.u32 %value, %place, 0x9e3779b1;");
  text.line("shr.u32 %mixed, %value, 15;");
  text.line("xor.b32 %value, %value, %mixed;");
  text.line("mul.lo.u32 %value, %value, 0x85ebca6b;");
  text.line("shr.u32 %mixed, %value, 13;");
  text.line("xor.b32 %value, %value, %mixed;");
  text.line("and.b32 %value, %value, 0x83f783f7;");
  text.line("or.b32 %value, %value, 0x38003800;");
  text.line("st.shared.u32 [%place], %value;");
  text.line("add.u32 %place, %place, %word;");
  text.line("setp.lt.u32 %more, %place, %end_of_factors;");
  text.line("@%more bra FILL;");
  text.line("fence.proxy.async;");
  text.line("bar.sync 0;");
  describe_matrix(text, 'm', 0, 32, version);
  describe_matrix(text, 'n', kRowFactorBytes, 32, version);
  describe_matrix(text, 'v', kRowFactorBytes, 64, version);
}

bool uses(const OperationShape& shape, std::string_view operand) {
  for (std::uint32_t stream = 0; stream < std::min(shape.streams, 2u); ++stream) {
    if (shape.operation_of(stream).ptx.find(operand) != std::string_view::npos) return true;
  }
  return false;
}

// An mbarrier that all threads of the block arrive at.
void make_mbarrier(PtxText& text) {
  text.line(".reg .b32 %mbarrier;");
  text.line("mov.u32 %mbarrier, dynamic_shared;");
  text.line("@%first_thread mbarrier.init.shared.b64 [%mbarrier], %threads;");
  text.line("bar.sync 0;");
}

// A function of its own, for operations that call one.
void called_function(PtxText& text) {
  text.raw(R"(
.func (.param .b32 result) called(.param .b32 given)
{
  .reg .b32 %value;
  ld.param.b32 %value, [given];
  not.b32 %value, %value;
  st.param.b32 [result], %value;
  ret;
}
)");
}

// What stands for an operand of the `index`-th operation of a chain.
std::string operand(char name, const OperationShape& shape, std::uint32_t stream, std::uint32_t index) {
  const std::uint32_t which = shape.beside && stream % 2 == 1 ? 1 : 0;
  const bool is_odd = index % 2 == 1;
  switch (name) {
    case 'd':
    case 'y':
      return result(shape, stream, index);
    case 'x':
      return result(shape, stream, index + results_kept(shape.operation_of(stream).type) - 1);
    case 'r':
      return fmt::format("%{}{}", is_odd ? 'c' : 'a', which);
    case 's':
      return fmt::format("%{}{}", is_odd ? 'e' : 'b', which);
    case 'a':
    case 'b':
    case 'c':
    case 'e':
      return fmt::format("%{}{}", name, which);
    case '0':
    case '1':
    case '2':
    case '3': {
      const std::uint32_t kept = results_kept(shape.operation_of(stream).type);
      return result_registers(shape, stream, index % kept).at(static_cast<std::size_t>(name - '0'));
    }
    case 'i':
      return "%one";
    case 'm':
    case 'n':
    case 'v':
      return fmt::format("%matrix_{}", name);
    case 'j':
      return "%issuer";
    case 'q':
      return "%always";
    case 'f':
      return "%first_thread";
    case 'o':
      return "%arrived";
    case 'k':
      return "%reached";
    case 'l':
      return "%arrivals";
    case 'z':
      return "%mbarrier";
    case 't':
    case 'u':
    case 'h':
    case 'g':
    case 'p':
    case 'w':
      return fmt::format("%{}{}", name, stream);
    default:
      throw Error(fmt::format("operations.def has no operand '{}'", name));
  }
}

void operation(PtxText& text, const OperationShape& shape, std::uint32_t stream, std::uint32_t index) {
  const std::string_view form = shape.operation_of(stream).ptx;
  std::string line;
  for (std::size_t i = 0; i < form.size(); ++i) {
    line += form[i] == '$' ? operand(form[++i], shape, stream, index) : std::string(1, form[i]);
    if (form[i] == ';') line += '\n';
  }
  text.raw(line);
}

// Every bit of what the chains end with, in %value; out through LOST for a value that there is not.
void use_results(PtxText& text, const OperationShape& shape) {
  text.line("mov.u32 %value, 0;");
  if (of_tensor_memory(shape)) read_accumulators(text);
  for (std::uint32_t stream = 0; stream < shape.streams; ++stream) {
    for (const std::string& last : result_registers(shape, stream, results_kept(shape.operation_of(stream).type) - 1)) {
      switch (bits_of(shape.operation_of(stream).type)) {
        case 16:
          text.line("cvt.u32.u16 %word, {};", last);
          break;
        case 64:
          text.line("mov.b64 {{%word, %here}}, {};", last);
          text.line("xor.b32 %value, %value, %here;");
          break;
        default:
          text.line("mov.b32 %word, {};", last);
          break;
      }
      text.line("xor.b32 %value, %value, %word;");
    }
  }
  text.line("setp.eq.u32 %lost, %value, %never;");
  text.line("@%lost {} LOST;", kLeave);
}

// A straight line of a round.
void line_of(PtxText& text, const OperationShape& shape, std::uint32_t operations) {
  for (std::uint32_t i = 0; i < operations; ++i) operation(text, shape, i % shape.streams, i / shape.streams);
}

// The same for each group of lanes apart, and all lanes together again.
void sides(PtxText& text, const OperationShape& shape, std::uint32_t operations) {
  for (std::uint32_t side = 0; side < shape.sides; ++side) {
    text.line("setp.ne.u32 %other_side, %side, {};", side);
    text.line("@%other_side bra SIDE_{};", side);
    line_of(text, shape, operations);
    text.line("SIDE_{}:", side);
  }
  text.line("bar.warp.sync 0xffffffff;");
}

void operation_kernel(PtxText& text, const std::string& name, const OperationShape& shape, std::uint32_t operations,
                      std::uint32_t rounds) {
  prologue(text, name, of_four_warps(shape) ? kMaxWarpgroupWarps : kMaxOperationWarps);
  load_fixed(text, info_of(shape.operation).type, 0);
  if (shape.beside) load_fixed(text, info_of(*shape.beside).type, 1);
  if (of_four_warps(shape)) fill_factors(text, of_tensor_memory(shape) ? 1 : 0);
  if (of_tensor_memory(shape)) begin_tensor_memory(text);
  if (uses(shape, "$z")) make_mbarrier(text);
  for (std::uint32_t stream = 0; stream < shape.streams; ++stream) begin_chain(text, shape, stream);
  if (shape.sides > 1) {
    text.line(".reg .pred %other_side;");
    text.line(".reg .b32 %side;");
    text.line("and.b32 %side, %lane, {};", shape.sides - 1);
  }
  const auto round = [&] {
    if (of_warpgroup(shape)) text.line("wgmma.fence.sync.aligned;");
    if (shape.sides > 1) {
      sides(text, shape, operations);
    } else {
      line_of(text, shape, operations);
    }
    // What warps do together is asynchronous. It is waited for in each round: across the loop's end the compiler would
    // have it wait after each operation.
    if (of_warpgroup(shape)) text.line("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;");
    if (of_tensor_memory(shape)) end_tensor_round(text);
  };
  two_phases(
      text, round, [&] { use_results(text, shape); }, kLeave, rounds);
  chain_lost(text);
  write_warp_record(text, "%first_lane");
  text.line("LEAVE:");
  if (of_tensor_memory(shape)) give_back_tensor_memory(text);
  text.line("bar.sync 0;");
  stamp_clocks(text, "%records", offsetof(BlockRecord, end_cycles), offsetof(BlockRecord, end_ns));
  text.line("ret;");
  text.line("}}");
}

}  // namespace

// What the loop adds is to vanish beside a round (operations_per_round()). Beside operations of which a scheduler
// begins one each clock it does not: on an H200 5.7 of 518 clocks, of which less than half are its instructions, the
// others the way back. So a pass of the loop is two rounds, with a way out between them.
std::uint32_t rounds_of_pass(const OperationShape& shape) {
  const OperationInfo& info = info_of(shape.operation);
  const bool may_fill_schedulers = info.of == OperationClass::kArithmetic && registers_of(info.type) == 1;
  return may_fill_schedulers && !shape.beside && shape.sides == 1 ? 2 : 1;
}

bool has_warpgroups(const PtxTarget& target, int driver_version) {
  constexpr int kOnlySm = 90;
  constexpr int kFirstDriver = 12000;  // with PTX 8.0
  return target.sm == kOnlySm && driver_version >= kFirstDriver;
}

bool is_own_target(const PtxTarget& target, const DeviceInfo& info) {
  return target.sm == 10 * info.compute_capability_major.value_or(0) + info.compute_capability_minor.value_or(0);
}

PtxTarget operation_target(const PtxTarget& target, int driver_version, bool is_own) {
  constexpr int kFirstSm = 70;         // whose drivers still exist
  constexpr int kFirstNarrowSm = 100;  // with tensor memory or numbers of 4 bits, which only code for one alone has
  struct Version {
    int driver;
    int major;
    int minor;
  };
  // The last of them: matrices of 8-bit numbers for sums of f16, the same for those of f32, conversions of such on
  // sm_89, sparse matrices, tanh.
  constexpr Version kVersions[] = {{12080, 8, 7}, {12040, 8, 4}, {12010, 8, 1}, {11010, 7, 1}, {11000, 7, 0}};
  PtxTarget best = target;
  for (const Version& version : kVersions) {
    const bool is_newer = std::pair(version.major, version.minor) > std::pair(best.ptx_major, best.ptx_minor);
    if (target.sm >= kFirstSm && driver_version >= version.driver && is_newer) {
      best.ptx_major = version.major;
      best.ptx_minor = version.minor;
    }
  }
  best.specific = is_own && (has_warpgroups(target, driver_version) || target.sm >= kFirstNarrowSm);
  return best;
}

std::string generate_operation_ptx(const PtxTarget& target, std::span<const OperationShape> shapes,
                                   std::uint32_t most_operations) {
  PtxText text;
  text.raw(module_header(target));
  if (std::ranges::any_of(shapes, [](const OperationShape& shape) { return uses(shape, "called"); })) {
    called_function(text);
  }
  operation_kernel(text, kFrameKernel, {.operation = OperationId::kFmaF32}, kFrameOperations, 1);
  for (const OperationShape& shape : shapes) {
    const std::uint32_t operations = std::min(shape.operations(), most_operations);
    operation_kernel(text, shape.kernel_name(), shape, operations, rounds_of_pass(shape));
  }
  std::string ptx = text.take();
  // That it selects in order, as ours does, is what units from compute capability 10.0 on need: else the compiler has
  // it sorted, in four more instructions.
  const bool has_order = std::pair(target.ptx_major, target.ptx_minor) >= std::pair(8, 5) && target.sm >= 80;
  if (has_order) boost::replace_all(ptx, "mma.sp.sync", "mma.sp::ordered_metadata.sync");
  return ptx;
}

}  // namespace gputopo::cuda
