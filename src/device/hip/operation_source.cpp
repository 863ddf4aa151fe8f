// The kernels that run operation programs on AMD GPUs: straight lines of chained operations from operations.def.
// The timing depends on these facts:
// - A round with its loop and the clock readings around all rounds is one piece of assembly. The compiler merges and
//   drops nothing there.
// - Between two operations, a wavefront waits only for the hardware. No instruction needs a wait that the compiler
//   would have to write, except those that go through LDS, whose rows include it.
#include "device/hip/operation_source.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "device/hip/source_text.h"
#include "gputopo/error.h"

namespace gputopo::hip {
namespace {

using namespace launch;

constexpr std::string_view kFixedNames = "abce";  // names of OperationOperands::fixed

constexpr std::string_view kTypes = R"hip(
typedef u32 u32x4 __attribute__((ext_vector_type(4)));
typedef u64 u64x4 __attribute__((ext_vector_type(4)));)hip";

// {0}: name; {1}: registers and their first values; {2}: a round; {3}: outputs and inputs of the assembly; {4}: inputs
// alone; {5}: all results in one word; {6}: action of a block to which the others did not come; {7}: a function that is
// called, if any; {8}, {9}: the first and the last lines; {10}: clock readings.
constexpr std::string_view kOperationKernel = R"hip(
KERNEL void {0}(Parameters p, u32 blocks, u32 threads) {{{8}  const u64 operands = p.operands + (u64)(thread & p.lane_mask) * kOperationOperands_bytes;
  const u32 one = read32(operands + kOperationOperands_one);
{1}  u64 timer = 0, start = 0, end = 0;
  #pragma clang loop unroll(disable)
  for (u32 phase = 0; phase < 2; ++phase) {{
    if (!common_start(p, blocks, (phase + 1) * blocks, first_thread, record)) {{
      {6}
    }}
    u32 left = uniform32(phase == 0 ? p.warm_rounds : p.rounds);
    if (left != 0) {{
      asm volatile(
          "{10}
          "{2}"
          "s_sub_u32 %[left], %[left], 1\n"
          "s_cmp_lg_u32 %[left], 0\n"
          "s_cbranch_scc1 1b\n"
          "s_waitcnt lgkmcnt(0)\n"
          "s_memtime %[end]\n"
          "s_waitcnt lgkmcnt(0)\n"
          "{7}"
          : {3}[left] "+s"(left), [timer] "=&s"(timer), [start] "=&s"(start), [end] "=&s"(end)
          : {4}[one] "v"(one) : "memory", "scc", "vcc");
    }}
    if (({5}) == p.never) write32(record + kBlockRecord_sink, 1);
  }}{9})hip";

std::uint32_t which(const OperationShape& shape, std::uint32_t stream) {
  return shape.beside && stream % 2 == 1 ? 1 : 0;
}

// Matrices accumulate in place, as in programs: four results of each chain would be more registers than exist.
std::uint32_t results_of(const OperationShape& shape, std::uint32_t stream) {
  return registers_of(shape.operation_of(stream).type) > 1 ? 1 : kResultsKept;
}

// Operands of a barrier of all blocks: a counter in memory, the value to reach, and its increment. A block to which the
// others did not come counts but waits for none, so no two blocks wait for each other.
struct GridOperands {
  std::string_view registers =
      "  const u64 counter = p.arrived;\n"
      "  const u64 first_lane = uniform64(warp == 0 ? 1 : 0);\n"
      "  u32 reached = 0, step = blocks, seen = 0;\n"
      "  u64 all_lanes = 0;\n";
  std::string_view outputs = "[reached] \"+v\"(reached), [seen] \"=&v\"(seen), [all_lanes] \"=&s\"(all_lanes), ";
  std::string_view inputs = "[step] \"v\"(step), [counter] \"v\"(counter), [first_lane] \"s\"(first_lane), ";
  std::string_view apart = "reached = step = 0;";
};

// An empty function, behind all timed code.
constexpr std::string_view kFunction = "s_branch 8f\\n9:\\ns_setpc_b64 vcc\\n8:\\n";

bool uses(const OperationShape& shape, std::string_view text) {
  return info_of(shape.operation).cdna.find(text) != std::string_view::npos;
}

// The operands that all chains share.
constexpr std::pair<char, std::string_view> kCommonOperands[] = {
    {'i', "%[one]"},     {'f', "%[first_lane]"}, {'k', "%[reached]"},  {'l', "%[step]"},
    {'o', "%[counter]"}, {'t', "%[seen]"},       {'w', "%[all_lanes]"}};

std::string operand(const GfxTarget& target, char name, const OperationShape& shape, std::uint32_t stream,
                    std::uint32_t index) {
  const std::uint32_t kept = results_of(shape, stream);
  if (name == 'd' || name == 'y') return fmt::format("%[x{}_{}]", stream, index % kept);
  if (name == 'x') return fmt::format("%[x{}_{}]", stream, (index + kept - 1) % kept);
  if (name == 'g') return target.bypass;
  if (kFixedNames.find(name) != std::string_view::npos) return fmt::format("%[{}{}]", name, which(shape, stream));
  for (const auto& [common, value] : kCommonOperands) {
    if (common == name) return std::string(value);
  }
  throw Error(fmt::format("operations.def has '${}' in an operation of AMD GPUs", name));
}

// Lines of assembly within a string of the source.
std::string operation(const GfxTarget& target, const OperationShape& shape, std::uint32_t stream, std::uint32_t index) {
  const std::string_view form = shape.operation_of(stream).cdna;
  std::string line;
  for (std::size_t i = 0; i < form.size(); ++i) {
    if (form.substr(i).starts_with("; ")) {
      line += "\\n";
      ++i;
    } else {
      line += form[i] == '$' ? operand(target, form[++i], shape, stream, index) : std::string(1, form[i]);
    }
  }
  return line + "\\n";
}

// The type of a result. Several registers form a vector.
std::string type_of_result(OperandType type) {
  const std::string scalar = result_bits_of(type) == 64 ? "u64" : "u32";
  return registers_of(type) == 1 ? scalar : scalar + "x4";
}

std::string first_word(OperandType type, const std::string& name) {
  return registers_of(type) == 1 ? name : name + ".x";
}

// Matrix units of the first CDNA write accumulation registers only.
char registers_of_results(const GfxTarget& target, OperandType type) {
  return registers_of(type) > 1 && target.name == "gfx908" ? 'a' : 'v';
}

std::string line_of(const GfxTarget& target, const OperationShape& shape) {
  std::string operations;
  for (std::uint32_t i = 0; i < kResultsKept; ++i) {
    for (std::uint32_t stream = 0; stream < shape.streams; ++stream) operations += operation(target, shape, stream, i);
  }
  return fmt::format(".rept {}\\n{}.endr\\n", shape.operations() / shape.streams / kResultsKept, operations);
}

// A line, or one for each group of lanes: a mask of lanes, and a branch if none is left. This is one of the forms in
// which compilers write branches that lanes take differently.
std::string round_of(const GfxTarget& target, const OperationShape& shape) {
  if (shape.sides == 1) return line_of(target, shape);
  std::string text;
  for (std::uint32_t side = 0; side < shape.sides; ++side) {
    text += fmt::format(
        "v_cmp_eq_u32 vcc, {}, %[side]\\ns_and_saveexec_b64 %[all], vcc\\ns_cbranch_execz 3f\\n{}3:\\n"
        "s_mov_b64 exec, %[all]\\n",
        side, line_of(target, shape));
  }
  return text;
}

// Adds the registers of an operation's fixed operands, and the inputs that pass them to the assembly.
void add_fixed(OperationId operation, std::uint32_t number, std::string& registers, std::string& inputs) {
  const bool wide = bits_of(info_of(operation).type) == 64;
  for (std::size_t i = 0; i < kFixedNames.size(); ++i) {
    registers += fmt::format(
        "  const {} {}{} = {}(operands + {});\n", wide ? "u64" : "u32", kFixedNames[i], number,
        wide ? "read64" : "read32",
        number * sizeof(OperationOperands) + offsetof(OperationOperands, fixed) + i * sizeof(std::uint64_t));
    inputs += fmt::format("[{0}{1}] \"v\"({0}{1}), ", kFixedNames[i], number);
  }
}

std::string kernel_of(const GfxTarget& target, const OperationShape& shape) {
  std::string registers;
  std::string outputs;
  std::string inputs;
  std::string results = "0u";
  add_fixed(shape.operation, 0, registers, inputs);
  if (shape.beside) add_fixed(*shape.beside, 1, registers, inputs);
  for (std::uint32_t stream = 0; stream < shape.streams; ++stream) {
    const OperandType type = shape.operation_of(stream).type;
    const std::uint32_t kept = results_of(shape, stream);
    for (std::uint32_t i = 0; i < kept; ++i) {
      const std::size_t at = which(shape, stream) * sizeof(OperationOperands) + offsetof(OperationOperands, chain) +
                             i * sizeof(std::uint64_t);
      registers += fmt::format("  {} x{}_{} = {}(operands + {});\n", type_of_result(type), stream, i,
                               result_bits_of(type) == 64 ? "read64" : "read32", at);
      outputs += fmt::format("[x{0}_{1}] \"+{2}\"(x{0}_{1}), ", stream, i, registers_of_results(target, type));
    }
    results += fmt::format(" ^ (u32){}", first_word(type, fmt::format("x{}_{}", stream, kept - 1)));
  }
  if (shape.sides > 1) {
    registers += fmt::format("  const u32 side = lane % {}u;\n  u64 all = 0;\n", shape.sides);
    outputs += "[all] \"=&s\"(all), ";
    inputs += "[side] \"v\"(side), ";
  }
  GridOperands grid;
  if (!uses(shape, "$o")) grid = {{}, {}, {}, {}};
  return fmt::format(fmt::runtime(kOperationKernel), shape.kernel_name(), registers.append(grid.registers),
                     round_of(target, shape), outputs.append(grid.outputs), inputs.append(grid.inputs), results,
                     grid.apart, uses(shape, "9f") ? kFunction : std::string_view{}, kBeginChains, kEndChains,
                     kReadClock);
}

}  // namespace

std::string generate_operation_source(const GfxTarget& target, std::span<const OperationShape> shapes) {
  SourceText text(target);
  constexpr std::string_view kFields =
      "operands records warp_records arrived claims lane_mask warm_rounds rounds never longest_wait_cycles";
  text.constant("kStartedApart", kStartedApart);
  text.offsets("OperationParameters", kFields);
  text.offsets("OperationOperands", "one");
  text.offsets("WarpRecord", "start_cycles end_cycles timer_cycles");
  text.size_of("WarpRecord");
  text.size_of("OperationOperands");
  text.raw(kTypes);
  text.parameters("OperationParameters", R"hip(  u64 operands, records, warp_records, arrived, claims;
  u32 lane_mask, warm_rounds, rounds, never, longest_wait_cycles, unused;)hip",
                  kFields);
  text.raw(kStartTogether);
  for (const OperationShape& shape : shapes) text.raw(kernel_of(target, shape));
  return text.take();
}

}  // namespace gputopo::hip
