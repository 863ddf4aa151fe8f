#include "device/cuda/program_modules.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "device/cuda/access_ptx.h"
#include "device/cuda/code_ptx.h"
#include "device/cuda/machine_code.h"

namespace gputopo::cuda {
namespace {

// The code around the blocks differs by a few instructions and padding, so the difference of two kernels is slightly
// off for each of hundreds of blocks. On most GPUs a block is a whole number of 16-byte instructions.
double whole_instructions(double bytes) {
  constexpr double kInstruction = 16;
  constexpr double kOff = 1.5;
  const double whole = std::round(bytes / kInstruction) * kInstruction;
  return std::abs(bytes - whole) <= kOff ? whole : std::round(bytes * 100) / 100;
}

}  // namespace

const Module& AccessModule::module() {
  if (!module_) module_.emplace(gpu_.compiler().module_of(generate_access_ptx(gpu_.target())));
  return *module_;
}

void AccessModule::set_constants(launch::Address image, std::uint64_t bytes) {
  gpu_.copy_to_bank(module(), image, bytes);
}

void AccessModule::launch(const launch::AccessLaunch& launch, AccessParameters parameters) {
  const FunctionHandle function = module().function(launch.kernel.c_str());
  gpu_.set_bank_mode(function, launch.bank_mode_bytes);
  gpu_.run(function, launch.kernel,
           {.blocks = launch.blocks,
            .threads = launch.threads,
            .shared_bytes = launch.shared_bytes,
            .carve_out_bytes = launch.carve_out_bytes},
           {&parameters});
}

void CodeModule::compile_once() {
  if (module_) return;
  const std::string binary = gpu_.compiler().machine_code(generate_code_ptx(gpu_.target()));
  const auto long_bytes = static_cast<double>(code_bytes(binary, "code"));
  const auto short_bytes = static_cast<double>(code_bytes(binary, "lead_code"));
  // The lead counts as blocks of the same length.
  constexpr std::uint32_t kShortBlocks = (kMaxCodeBehindLead + kCodeLeadInstructions) / kCodeBlockInstructions;
  sizes_.block_bytes = whole_instructions((long_bytes - short_bytes) / (kMaxCodeBlocks - kShortBlocks));
  sizes_.loop_bytes = static_cast<std::uint32_t>(std::max(0.0, short_bytes - sizes_.block_bytes * kShortBlocks));
  module_.emplace(gpu_.driver(), binary);
}

void CodeModule::compile_jumps_once() {
  if (jumps_) return;
  const std::string binary = gpu_.compiler().machine_code(generate_jump_ptx(gpu_.target()));
  const auto bytes_of = [&](const char* kernel) { return static_cast<double>(code_bytes(binary, kernel)); };
  const double few_bytes = bytes_of("few_near_jumps");
  const double near_bytes = whole_instructions((bytes_of("near_jumps") - few_bytes) / (kMaxNearJumps - kFewNearJumps));
  // The code around the blocks is the same in all kernels.
  const double around = few_bytes - kFewNearJumps * near_bytes;
  const auto keep_sizes = [&](CodeStepKind kind, double block_bytes) {
    jump_sizes_[kind] = {block_bytes, static_cast<std::uint32_t>(std::max(0.0, around))};
  };
  keep_sizes(CodeStepKind::kNearJumps, near_bytes);
  for (const auto& [kind, blocks] :
       {std::pair(CodeStepKind::kFarJumps, kMaxFarJumps), {CodeStepKind::kAlignedJumps, kAlignedBlocks}}) {
    keep_sizes(kind, whole_instructions((bytes_of(std::string(to_string(kind)).c_str()) - around) / blocks));
  }
  jumps_.emplace(gpu_.driver(), binary);
}

void CodeModule::compile_operands_once() {
  if (operands_) return;
  const std::string binary = gpu_.compiler().machine_code(generate_operand_ptx(gpu_.target()));
  operand_sizes_.block_bytes =
      whole_instructions(static_cast<double>(code_bytes(binary, "apart_operands")) / kMaxOperands);
  operands_.emplace(gpu_.driver(), binary);
}

launch::CodeSizes CodeModule::sizes(CodeStepKind kind) {
  if (is_operands(kind)) {
    compile_operands_once();
    return operand_sizes_;
  }
  if (is_jumps(kind)) {
    compile_jumps_once();
    return jump_sizes_.at(kind);
  }
  compile_once();
  return sizes_;
}

const Module& CodeModule::module_of(CodeStepKind kind) {
  if (is_operands(kind)) {
    compile_operands_once();
    return *operands_;
  }
  if (is_jumps(kind)) {
    compile_jumps_once();
    return *jumps_;
  }
  compile_once();
  return *module_;
}

void CodeModule::launch(const launch::CodeLaunch& launch, CodeParameters parameters) {
  const std::string straight = launch.has_lead ? "lead_code" : "code";
  // Kernels of counted steps have the name of their kind.
  const std::string kernel = is_counted(launch.kind) ? std::string(to_string(launch.kind)) : straight;
  gpu_.run(module_of(launch.kind).function(kernel.c_str()), kernel,
           {.blocks = launch.blocks,
            .threads = launch.threads,
            .shared_bytes = launch.shared_bytes,
            .carve_out_bytes = launch.carve_out_bytes},
           {&parameters});
}

}  // namespace gputopo::cuda
