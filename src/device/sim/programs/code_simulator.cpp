#include "device/sim/programs/code_simulator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

#include "gputopo/error.h"

namespace gputopo::sim {
namespace {

// Apart from each other, and aligned so that contiguous code or constants fill modulo sets evenly.
constexpr std::uint64_t kCodeBase = 1ull << 40;
constexpr std::uint64_t kConstantsBase = 1ull << 41;
constexpr std::uint64_t kKib = 1024;
constexpr std::uint64_t kParametersBase = kConstantsBase + 129 * kKib + 640;  // kernel parameters
constexpr std::uint64_t kJumpsBase = 3ull << 40;

// Bytes that the nearest cache fetches at once, at most a block of code.
std::uint64_t fetch_bytes_of(const Path& path, std::uint64_t block_bytes) {
  return path.stops.empty() ? block_bytes
                            : std::min<std::uint64_t>(path.stops.front().cache->sector_bytes(), block_bytes);
}

// Consecutive loads, and the sum of their latencies, each multiplied by its `times`.
class LoadSum {
 public:
  LoadSum(Hierarchy& hierarchy, const Path& path, double begin) : hierarchy_(hierarchy), path_(path), sum_(begin) {}

  void add(std::uint64_t address, double times) {
    addresses_[count_] = address;
    times_[count_] = times;
    if (++count_ == kMaxLoadsAtOnce) load();
  }
  [[nodiscard]] double sum() {
    load();
    return sum_;
  }

 private:
  void load() {
    hierarchy_.load(path_, std::span(addresses_).first(count_), cycles_.data());
    for (std::size_t i = 0; i < count_; ++i) sum_ += times_[i] * cycles_[i];
    count_ = 0;
  }

  Hierarchy& hierarchy_;
  const Path& path_;
  double sum_;
  std::size_t count_ = 0;
  std::array<std::uint64_t, kMaxLoadsAtOnce> addresses_;
  std::array<double, kMaxLoadsAtOnce> times_;
  std::array<double, kMaxLoadsAtOnce> cycles_;
};

// Extra cycles of a jump to the code at `address`, over a jump to code in the nearest cache.
double jump_back_cycles(Hierarchy& hierarchy, const Path& jump_path, std::uint64_t address) {
  if (jump_path.stops.empty() || jump_path.memory_latency_cycles == 0) return 0;
  return hierarchy.load(jump_path, address) - jump_path.stops.front().latency_cycles;
}

// Code is fetched ahead as it runs, but not where the next pass begins.
double run_cycles(Hierarchy& hierarchy, const Path& path, const Path& jump_path, const CodeSpec& code,
                  const CodeStep& step) {
  const std::uint64_t unit = fetch_bytes_of(path, std::uint64_t{kCodeBlockInstructions} * code.bytes_per_instruction);
  const std::uint64_t stretch = kCodeBase + std::uint64_t{step.first} * code.bytes_per_instruction;
  const std::uint64_t begin = stretch - std::uint64_t{step.lead} * code.bytes_per_instruction;
  const std::uint64_t end = stretch + std::uint64_t{step.count} * code.bytes_per_instruction;
  LoadSum loads(hierarchy, path, code.loop_cycles + jump_back_cycles(hierarchy, jump_path, begin));
  for (std::uint64_t at = begin; at < end;) {
    const std::uint64_t next = std::min(end, at / unit * unit + unit);
    loads.add(at, static_cast<double>(next - at) / code.bytes_per_instruction);
    at = next;
  }
  return loads.sum();
}

double constants_cycles(Hierarchy& hierarchy, const Path& path, const CodeStep& step) {
  LoadSum loads(hierarchy, path, 0);
  for (std::uint64_t at = 0; at < step.count; at += step.stride_bytes) loads.add(kConstantsBase + step.first + at, 1);
  return loads.sum();
}

std::uint64_t jump_block_bytes(const CodeSpec& code, CodeStepKind kind) {
  return std::uint64_t{jump_instructions(kind) + jump_filler(kind)} * code.bytes_per_instruction;
}

std::uint32_t place_of(const CodeStep& step, std::uint32_t jump) {
  if (step.kind != CodeStepKind::kAlignedJumps) return place_of_jump(step.kind, jump);
  return place_of_aligned_jump(step.first, step.count, jump);
}

// Extra fetches by where an aligned block begins; the cycles of a jump are a mean over all beginnings.
double cycles_of_fetches(const CodeSpec& code, const CodeStep& step, std::uint64_t begin, std::uint64_t run_bytes) {
  if (step.kind != CodeStepKind::kAlignedJumps || code.fetch_bytes == 0) return 0;
  const std::uint64_t more = (begin + run_bytes - 1) / code.fetch_bytes - begin / code.fetch_bytes;
  return static_cast<double>(more) * code.fetch_cycles;
}

// The code that runs of a block may span two lines; the jump waits for the farther one.
double jumps_cycles(Hierarchy& hierarchy, const Path& path, const CodeSpec& code, const CodeStep& step) {
  const std::uint64_t run_bytes = std::uint64_t{jump_instructions(step.kind)} * code.bytes_per_instruction;
  const std::uint64_t unit = fetch_bytes_of(path, run_bytes);
  double sum = code.loop_cycles;
  for (std::uint32_t jump = 0; jump < step.count; ++jump) {
    const std::uint64_t begin = kJumpsBase + place_of(step, jump) * jump_block_bytes(code, step.kind);
    double longest = 0;
    for (std::uint64_t at = begin / unit * unit; at < begin + run_bytes; at += unit) {
      longest = std::max(longest, hierarchy.load(path, at));
    }
    sum += longest + cycles_of_fetches(code, step, begin, run_bytes);
  }
  return sum;
}

double operands_cycles(Hierarchy& hierarchy, const Path& path, const CodeSpec& code, const CodeStep& step) {
  const std::uint32_t stride = operand_stride_bytes(step.kind);
  LoadSum loads(hierarchy, path, code.loop_cycles);
  for (std::uint32_t i = 0; i < code.pass_constants; ++i) loads.add(kParametersBase + std::uint64_t{i} * 3 * kKib, 1);
  for (std::uint32_t i = 0; i < step.count; ++i) loads.add(kConstantsBase + std::uint64_t{i} * stride, 1);
  return loads.sum();
}

Path path_of(Hierarchy& hierarchy, CodeStepKind kind, std::uint32_t warp, std::uint32_t sm) {
  if (kind == CodeStepKind::kConstants) return hierarchy.path_of(Space::kConstant, warp, sm);
  if (is_operands(kind)) return hierarchy.operand_path_of(warp, sm);
  return is_jumps(kind) ? hierarchy.jump_path_of(warp, sm) : hierarchy.code_path_of(warp, sm);
}

double pass_cycles(Hierarchy& hierarchy, const Path& path, const Path& jump_path, const CodeSpec& code,
                   const CodeStep& step) {
  if (step.kind == CodeStepKind::kConstants) return constants_cycles(hierarchy, path, step);
  if (is_operands(step.kind)) return operands_cycles(hierarchy, path, code, step);
  if (is_jumps(step.kind)) return jumps_cycles(hierarchy, path, code, step);
  return run_cycles(hierarchy, path, jump_path, code, step);
}

// Bytes from one jump to the next, or of the compiled unit of the step.
double block_bytes_of(const CodeSpec& code, CodeStepKind kind) {
  constexpr std::uint32_t kInstructionsOfOperand = 3;
  if (is_jumps(kind)) return static_cast<double>(jump_block_bytes(code, kind));
  const std::uint32_t instructions = is_operands(kind) ? kInstructionsOfOperand : kCodeBlockInstructions;
  return static_cast<double>(instructions) * code.bytes_per_instruction;
}

void require_known(const CodeSpec& code, CodeStepKind kind) {
  if (is_jumps(kind) && code.memory_jump_cycles == 0) {
    throw NotSupportedError("the machine file does not specify the cost of jumps; add code.memory_jump_cycles to it");
  }
  if (is_operands(kind) && code.memory_operand_cycles == 0) {
    throw NotSupportedError(
        "the machine file does not specify the cost of constant operands; add code.memory_operand_cycles to it");
  }
}

// A pass is timed as a whole, so it gets the noise of one load.
std::uint64_t with_noise(double cycles, Noise& noise) {
  StepBehaviour pass(1);
  pass.add(cycles, false, 0);
  return static_cast<std::uint64_t>(std::llround(std::max(1.0, noise.total_cycles(pass))));
}

}  // namespace

CodeBehaviour code_behaviour(const CodeSpec& code, Hierarchy& hierarchy, const InstructionProgram& program,
                             std::uint64_t carve_out_bytes, std::uint64_t seed) {
  hierarchy.start_program(carve_out_bytes, seed);
  require_known(code, program.steps.front().kind);
  CodeBehaviour behaviour;
  for (const CodeStep& step : program.steps) {
    const CodeActor& actor = program.actors[step.actor];
    const Path path = path_of(hierarchy, step.kind, actor.warp, actor.sm.value_or(0));
    const Path jump_path = hierarchy.jump_path_of(actor.warp, actor.sm.value_or(0));
    std::vector<double>& passes = behaviour.emplace_back();
    for (std::uint32_t pass = 0; pass < step.passes; ++pass) {
      passes.push_back(pass_cycles(hierarchy, path, jump_path, code, step));
    }
  }
  return behaviour;
}

InstructionResult code_result(const CodeSpec& code, const InstructionProgram& program, const CodeBehaviour& behaviour,
                              Noise& noise) {
  InstructionResult result;
  result.block_bytes = block_bytes_of(code, program.steps.front().kind);
  for (const CodeActor& actor : program.actors) result.sms.push_back(actor.sm.value_or(0));
  for (const std::vector<double>& step : behaviour) {
    std::vector<std::uint64_t>& passes = result.pass_cycles.emplace_back();
    for (const double cycles : step) passes.push_back(with_noise(cycles, noise));
  }
  return result;
}

InstructionResult CodeSimulator::run(const InstructionProgram& program, std::uint64_t carve_out_bytes,
                                     std::uint64_t seed, Noise& noise) {
  const auto known = std::ranges::find_if(
      known_, [&](const Known& one) { return one.carve_out_bytes == carve_out_bytes && one.program == program; });
  if (known != known_.end()) {
    known_.splice(known_.begin(), known_, known);
    return code_result(*spec_.code, program, known->behaviour, noise);
  }
  CodeBehaviour behaviour = code_behaviour(*spec_.code, hierarchy_, program, carve_out_bytes, seed);
  InstructionResult result = code_result(*spec_.code, program, behaviour, noise);
  if (hierarchy_.chose_at_random()) return result;  // depends on this program's seed
  known_.push_front({program, carve_out_bytes, std::move(behaviour)});
  if (known_.size() > kMostKnown) known_.pop_back();
  return result;
}

}  // namespace gputopo::sim
