// The kernels that run operation programs: straight lines of chained operations from operations.def. The timing
// depends on these facts:
// - The phases, and the code around the clock readings (ptx_phases.h).
// - Operands come from memory, at an address that the compiler believes to differ among lanes. Otherwise it would know
//   their values, or compute once for the whole warp. A chain's first operands are volatile loads, or the compiler
//   would merge chains that begin alike.
// - All bits of the chains' last results are used.
#include "device/cuda/operation_ptx.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <boost/algorithm/string/replace.hpp>
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

// All lanes hold the same values. If the compiler believes that some lanes may leave alone, it writes operations across
// the lanes of a warp twice, behind instructions that gather the lanes.
constexpr std::string_view kLeave = "bra.uni";

constexpr std::string_view kFixedNames = "abcef";  // names of OperationOperands::fixed

bool of_tensor_memory(const OperationShape& shape) {
  return info_of(shape.operation).type == OperandType::kTensorMemory;
}
bool of_four_warps(const OperationShape& shape) { return warps_per_operation(info_of(shape.operation).type) > 1; }
bool of_warpgroup(const OperationShape& shape) { return of_four_warps(shape) && !of_tensor_memory(shape); }

void begin_operation_kernel(PtxText& text, std::string name, std::uint32_t max_warps) {
  begin_phase_kernel(text, {.name = std::move(name),
                            .parameters = "OperationParameters",
                            .directives = fmt::format(".maxntid {}, 1, 1", 32 * max_warps),
                            .registers = R"(
  .reg .pred %first_lane, %always;
  .reg .b32 %thread_id, %threads, %block, %sm, %lane, %mask, %one, %value, %word;
  .reg .b64 %operands, %warp_records, %wide, %stamp;)",
                            .fields = "operands records warp_records arrived mask=lane_mask"});
  text.add(R"(  and.b32 %lane, %thread_id, 31;
  setp.eq.u32 %first_thread, %thread_id, 0;
  setp.eq.u32 %first_lane, %lane, 0;
  mad.lo.u32 %word, %block, %threads, %thread_id;
  shr.u32 %word, %word, 5;)");
  move_to_element(text, "%warp_records", "%word", "WarpRecord");
  begin_block_record(text);
  text.add("and.b32 %mask, %mask, %thread_id;");
  move_to_element(text, "%operands", "%mask", "OperationOperands");
  text.add("ld.global.u32 %one, [%operands + {OperationOperands.one}];\nsetp.ne.u32 %always, %one, 0;");
}

// The registers of the `index`-th result that a chain keeps.
std::vector<std::string> result_registers(const OperationShape& shape, std::uint32_t stream, std::uint32_t index) {
  const std::uint32_t count = registers_of(shape.operation_of(stream).type);
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < count; ++i) {
    names.push_back(fmt::format("%x{}_{}{}", stream, index, count == 1 ? "" : fmt::format("_{}", i)));
  }
  return names;
}

// The result as an operand.
std::string result(const OperationShape& shape, std::uint32_t stream, std::uint32_t index) {
  if (of_tensor_memory(shape)) return "%accumulators";
  const std::vector<std::string> names =
      result_registers(shape, stream, index % results_kept(shape.operation_of(stream).type));
  return names.size() == 1 ? names.front() : fmt::format("{{{}}}", fmt::join(names, ", "));
}

// Declares the registers of a chain and loads their first values.
void begin_chain(PtxText& text, const OperationShape& shape, std::uint32_t stream) {
  const std::uint32_t bits = bits_of(shape.operation_of(stream).type);
  const std::size_t of_beside = shape.beside && stream % 2 == 1 ? sizeof(OperationOperands) : 0;
  text.add(R"(.reg .pred %p{stream};
.reg .b16 %h{stream}, %g{stream};
.reg .b32 %t{stream}, %u{stream};
.reg .b64 %w{stream};)",
           {{"stream", stream}});
  for (std::uint32_t i = 0; i < results_kept(shape.operation_of(stream).type); ++i) {
    for (const std::string& reg : result_registers(shape, stream, i)) {
      text.line(".reg .b{0} {1};\nld.volatile.global.u{0} {1}, [%operands + {2}];", bits, reg,
                of_beside + offsetof(OperationOperands, chain) + i * sizeof(std::uint64_t));
    }
  }
}

// Loads the fixed operands of the operation, or of the one beside it.
void load_fixed(PtxText& text, OperandType type, std::uint32_t which) {
  const std::uint32_t bits = bits_of(type);
  for (std::size_t i = 0; i < kFixedNames.size(); ++i) {
    text.line(".reg .b{0} %{1}{2};\nld.global.u{0} %{1}{2}, [%operands + {3}];", bits, kFixedNames[i], which,
              which * sizeof(OperationOperands) + offsetof(OperationOperands, fixed) + i * sizeof(std::uint64_t));
  }
}

// Describes a matrix at an offset of the shared memory: groups of 8 rows (columns of the second factor) of 16 bytes.
// The groups of the same rows lie one after another, and those of the next rows behind them (PTX ISA, "Matrix
// descriptor": no swizzling). `version`: of the descriptor.
void describe_matrix(PtxText& text, char name, std::uint32_t offset, std::uint32_t row_bytes, std::uint64_t version) {
  constexpr std::uint64_t kGroupBytes = 128;
  const std::uint64_t strides = kGroupBytes >> 4 << 16 | (row_bytes / 16 * kGroupBytes >> 4) << 32 | version << 46;
  text.add(R"(.reg .b64 %matrix_{name};
add.u32 %word, %factors, {offset};
shr.u32 %word, %word, 4;
cvt.u64.u32 %matrix_{name}, %word;
or.b64 %matrix_{name}, %matrix_{name}, {strides};)",
           {{"name", name}, {"offset", offset}, {"strides", fmt::format("{:#x}", strides)}});
}

// Fills the factors in shared memory with random bits, because equal factors take much less power than a program's.
// They are ordinary numbers of every type that a unit may take them for: as f16, from 0.5 to 1 and their negatives.
void fill_factors(PtxText& text, std::uint64_t version) {
  text.add(R"(.reg .b32 %factors, %place, %end_of_factors, %mixed;
mov.u32 %factors, dynamic_shared;
add.u32 %end_of_factors, %factors, {factor_bytes};
shl.b32 %place, %thread_id, 2;
add.u32 %place, %place, %factors;
shl.b32 %word, %threads, 2;
FILL:
mul.lo.u32 %value, %place, 0x9e3779b1;
shr.u32 %mixed, %value, 15;
xor.b32 %value, %value, %mixed;
mul.lo.u32 %value, %value, 0x85ebca6b;
shr.u32 %mixed, %value, 13;
xor.b32 %value, %value, %mixed;
and.b32 %value, %value, 0x83f783f7;
or.b32 %value, %value, 0x38003800;
st.shared.u32 [%place], %value;
add.u32 %place, %place, %word;
setp.lt.u32 %more, %place, %end_of_factors;
@%more bra FILL;
fence.proxy.async;
bar.sync 0;)",
           {{"factor_bytes", kFactorBytes}});
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

// Makes an mbarrier at which all threads of the block arrive.
constexpr std::string_view kMakeMbarrier = R"(.reg .b32 %mbarrier;
mov.u32 %mbarrier, dynamic_shared;
@%first_thread mbarrier.init.shared.b64 [%mbarrier], %threads;
bar.sync 0;)";

// A separate function, for operations that call one.
constexpr std::string_view kCalledFunction = R"(
.func (.param .b32 result) called(.param .b32 given)
{
  .reg .b32 %value;
  ld.param.b32 %value, [given];
  not.b32 %value, %value;
  st.param.b32 [result], %value;
  ret;
})";

// The operands that all chains share.
constexpr std::pair<char, std::string_view> kCommonOperands[] = {
    {'i', "%one"},     {'j', "%issuer"},  {'q', "%always"},   {'f', "%first_thread"},
    {'o', "%arrived"}, {'k', "%reached"}, {'l', "%arrivals"}, {'z', "%mbarrier"}};

// The register of an operand of the `index`-th operation of a chain.
std::string operand(char name, const OperationShape& shape, std::uint32_t stream, std::uint32_t index) {
  const std::uint32_t which = shape.beside && stream % 2 == 1 ? 1 : 0;
  const std::uint32_t kept = results_kept(shape.operation_of(stream).type);
  const bool is_odd = index % 2 == 1;
  const auto is_one_of = [&](std::string_view names) { return names.find(name) != std::string_view::npos; };
  if (is_one_of("dy")) return result(shape, stream, index);
  if (name == 'x') return result(shape, stream, index + kept - 1);
  if (name == 'r') return fmt::format("%{}{}", is_odd ? 'c' : 'a', which);
  if (name == 's') return fmt::format("%{}{}", is_odd ? 'e' : 'b', which);
  if (is_one_of("abce")) return fmt::format("%{}{}", name, which);
  if (is_one_of("0123")) {
    return result_registers(shape, stream, index % kept).at(static_cast<std::size_t>(name - '0'));
  }
  if (is_one_of("mnv")) return fmt::format("%matrix_{}", name);
  if (is_one_of("tuhgpw")) return fmt::format("%{}{}", name, stream);
  for (const auto& [common, reg] : kCommonOperands) {
    if (common == name) return std::string(reg);
  }
  throw Error(fmt::format("operations.def has no operand '{}'", name));
}

void operation(PtxText& text, const OperationShape& shape, std::uint32_t stream, std::uint32_t index) {
  std::string_view form = shape.operation_of(stream).ptx;
  std::string lines;
  while (!form.empty()) {
    const bool is_operand = form.front() == '$';
    lines += is_operand ? operand(form[1], shape, stream, index) : std::string(1, form.front());
    if (form.front() == ';' && form.size() > 1) lines += '\n';
    form.remove_prefix(is_operand ? 2 : 1);
  }
  text.line("{}", lines);
}

// Moves every bit of a result into %word.
std::string_view word_of_bits(std::uint32_t bits) {
  if (bits == 16) return "cvt.u32.u16 %word, {result};";
  return bits == 64 ? "mov.b64 {%word, %here}, {result};\nxor.b32 %value, %value, %here;" : "mov.b32 %word, {result};";
}

// Combines every bit of the chains' last results in %value. Exits through LOST if a value is invalid.
void use_results(PtxText& text, const OperationShape& shape) {
  text.add("mov.u32 %value, 0;");
  if (of_tensor_memory(shape)) read_accumulators(text);
  for (std::uint32_t stream = 0; stream < shape.streams; ++stream) {
    const OperandType type = shape.operation_of(stream).type;
    for (const std::string& last : result_registers(shape, stream, results_kept(type) - 1)) {
      text.add(word_of_bits(bits_of(type)), {{"result", last}});
      text.add("xor.b32 %value, %value, %word;");
    }
  }
  text.line("setp.eq.u32 %lost, %value, %never;\n@%lost {} LOST;", kLeave);
}

// The operations of a round. With several sides, each group of lanes runs them alone, and then all lanes meet again.
void operations_of_round(PtxText& text, const OperationShape& shape, std::uint32_t operations) {
  for (std::uint32_t side = 0; side < shape.sides; ++side) {
    if (shape.sides > 1) text.line("setp.ne.u32 %other_side, %side, {0};\n@%other_side bra SIDE_{0};", side);
    for (std::uint32_t i = 0; i < operations; ++i) operation(text, shape, i % shape.streams, i / shape.streams);
    if (shape.sides > 1) text.line("SIDE_{}:", side);
  }
  if (shape.sides > 1) text.add("bar.warp.sync 0xffffffff;");
}

void operation_kernel(PtxText& text, const std::string& name, const OperationShape& shape, std::uint32_t operations,
                      std::uint32_t rounds) {
  begin_operation_kernel(text, name, of_four_warps(shape) ? kMaxWarpgroupWarps : kMaxOperationWarps);
  load_fixed(text, info_of(shape.operation).type, 0);
  if (shape.beside) load_fixed(text, info_of(*shape.beside).type, 1);
  if (of_four_warps(shape)) fill_factors(text, of_tensor_memory(shape) ? 1 : 0);
  if (of_tensor_memory(shape)) begin_tensor_memory(text);
  if (uses(shape, "$z")) text.add(kMakeMbarrier);
  for (std::uint32_t stream = 0; stream < shape.streams; ++stream) begin_chain(text, shape, stream);
  if (shape.sides > 1) {
    text.line(".reg .pred %other_side;\n.reg .b32 %side;\nand.b32 %side, %lane, {};", shape.sides - 1);
  }
  const auto round = [&] {
    if (of_warpgroup(shape)) text.add("wgmma.fence.sync.aligned;");
    operations_of_round(text, shape, operations);
    // Joint operations of warps are asynchronous. Each round waits for them: across the end of the loop, the compiler
    // would make it wait after each operation.
    if (of_warpgroup(shape)) text.add("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;");
    if (of_tensor_memory(shape)) end_tensor_round(text);
  };
  two_phases(
      text, round, [&] { use_results(text, shape); }, kLeave, rounds);
  end_phase_kernel(text, of_tensor_memory(shape) ? end_with_tensor_memory() : "bar.sync 0;");
}

}  // namespace

// The cost of the loop must be negligible beside a round (operations_per_round()). It is not for operations of which a
// scheduler starts one in each clock: on an H200 it is 5.7 of 518 clocks, less than half of them for its instructions,
// the rest for the jump back. So a pass of the loop is two rounds, with an exit between them.
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
  constexpr int kFirstSm = 70;         // the oldest with current drivers
  constexpr int kFirstNarrowSm = 100;  // with tensor memory or 4-bit numbers, which only code for one alone has
  struct Version {
    int driver;
    int major;
    int minor;
  };
  // The last features that need each version: matrices of 8-bit numbers with sums in f16, the same with sums in f32,
  // conversions of 8-bit numbers on sm_89, sparse matrices, tanh.
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
  PtxText text(target);
  if (std::ranges::any_of(shapes, [](const OperationShape& shape) { return uses(shape, "called"); })) {
    text.add(kCalledFunction);
  }
  operation_kernel(text, kFrameKernel, {.operation = OperationId::kFmaF32}, kFrameOperations, 1);
  for (const OperationShape& shape : shapes) {
    const std::uint32_t operations = std::min(shape.operations(), most_operations);
    operation_kernel(text, shape.kernel_name(), shape, operations, rounds_of_pass(shape));
  }
  std::string ptx = text.take();
  // Units from compute capability 10.0 on need metadata that selects in order, as ours does. Unless it is declared so,
  // the compiler sorts it, in four more instructions.
  const bool has_order = std::pair(target.ptx_major, target.ptx_minor) >= std::pair(8, 5) && target.sm >= 80;
  if (has_order) boost::replace_all(ptx, "mma.sp.sync", "mma.sp::ordered_metadata.sync");
  return ptx;
}

}  // namespace gputopo::cuda
