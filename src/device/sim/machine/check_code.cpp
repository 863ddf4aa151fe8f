#include "device/sim/machine/check_code.h"

#include <bit>

#include "device/sim/machine/rules.h"

namespace gputopo::sim {
namespace {

// Either all jump costs are given, or none.
void check_jumps(const CodeSpec& code) {
  const bool has_jumps = code.memory_jump_cycles != 0;
  double cycles = 0;
  for (std::size_t i = 0; i < code.path.size(); ++i) {
    const std::string field = fmt::format("code.path[{}].jump_cycles", i);
    require_overhead(code.path[i].jump_cycles, field);
    require((code.path[i].jump_cycles != 0) == has_jumps, field,
            "must be given if, and only if, memory_jump_cycles is given");
    require(code.path[i].jump_cycles >= cycles, field,
            "{} is less than the jump_cycles of the previous cache of the path ({})", code.path[i].jump_cycles, cycles);
    cycles = code.path[i].jump_cycles;
  }
  require_overhead(code.memory_jump_cycles, "code.memory_jump_cycles");
  require(code.memory_jump_cycles >= cycles, "code.memory_jump_cycles",
          "{} is less than the jump_cycles of the last cache of the path ({})", code.memory_jump_cycles, cycles);
  require((code.fetch_bytes != 0) == (code.fetch_cycles != 0), "code.fetch_cycles",
          "must be given together with fetch_bytes");
  require_overhead(code.fetch_cycles, "code.fetch_cycles");
  constexpr std::uint32_t kMostBytes = 4096;
  require(code.fetch_bytes == 0 || (std::has_single_bit(code.fetch_bytes) && code.fetch_bytes <= kMostBytes &&
                                    code.fetch_bytes >= code.bytes_per_instruction),
          "code.fetch_bytes", "{} is not a power of two between bytes_per_instruction and {}", code.fetch_bytes,
          kMostBytes);
  require(code.fetch_bytes == 0 || has_jumps, "code.fetch_bytes", "requires memory_jump_cycles");
}

void check_operands(const MachineSpec& spec, const CodeSpec& code) {
  require(code.operand_path.size() <= limits::kMaxLevels, "code.operand_path", "{} caches exceed the maximum of {}",
          code.operand_path.size(), limits::kMaxLevels);
  double cycles = 0;
  for (std::size_t i = 0; i < code.operand_path.size(); ++i) {
    const OperandStop& stop = code.operand_path[i];
    const std::string field = fmt::format("code.operand_path[{}]", i);
    require_positive(stop.cycles, field + ".cycles");
    require_overhead(stop.cycles, field + ".cycles");
    require(stop.cycles >= cycles, field + ".cycles",
            "{} is less than the cycles of the previous cache of the path ({})", stop.cycles, cycles);
    cycles = stop.cycles;
    require(require_cache(spec, stop.cache, field + ".cache").partitions == 1, field + ".cache",
            "'{}' has several partitions; omit this cache, because memory_operand_cycles includes its latency",
            shown(stop.cache));
  }
  constexpr std::uint32_t kMostConstants = 16;
  require(code.pass_constants <= kMostConstants, "code.pass_constants", "{} is more than {}", code.pass_constants,
          kMostConstants);
  require_overhead(code.memory_operand_cycles, "code.memory_operand_cycles");
  require(code.memory_operand_cycles >= cycles, "code.memory_operand_cycles",
          "{} is less than the cycles of the last cache of the path ({})", code.memory_operand_cycles, cycles);
}

}  // namespace

void check_code(const MachineSpec& spec, const CodeSpec& code) {
  require(code.bytes_per_instruction == 8 || code.bytes_per_instruction == 16, "code.bytes_per_instruction",
          "{} is not 8 or 16", code.bytes_per_instruction);
  require(code.path.size() <= limits::kMaxLevels, "code.path", "{} caches exceed the maximum of {}", code.path.size(),
          limits::kMaxLevels);
  double cycles = 0;
  for (std::size_t i = 0; i < code.path.size(); ++i) {
    const std::string field = fmt::format("code.path[{}]", i);
    require_positive(code.path[i].cycles_per_instruction, field + ".cycles_per_instruction");
    require(code.path[i].cycles_per_instruction >= cycles, field + ".cycles_per_instruction",
            "{} is less than the cycles_per_instruction of the previous cache of the path ({})",
            code.path[i].cycles_per_instruction, cycles);
    cycles = code.path[i].cycles_per_instruction;
    require(require_cache(spec, code.path[i].cache, field + ".cache").partitions == 1, field + ".cache",
            "'{}' has several partitions; omit this cache, because memory_cycles_per_instruction includes its cost",
            shown(code.path[i].cache));
  }
  require_positive(code.memory_cycles_per_instruction, "code.memory_cycles_per_instruction");
  require(code.memory_cycles_per_instruction >= cycles, "code.memory_cycles_per_instruction",
          "{} is less than the cycles_per_instruction of the last cache of the path ({})",
          code.memory_cycles_per_instruction, cycles);
  require_overhead(code.loop_cycles, "code.loop_cycles");
  check_jumps(code);
  check_operands(spec, code);
}

}  // namespace gputopo::sim
