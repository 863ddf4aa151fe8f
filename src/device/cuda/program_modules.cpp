#include "device/cuda/program_modules.h"

#include <algorithm>
#include <cmath>

#include "device/cuda/machine_code.h"

namespace gputopo::cuda {
namespace {

constexpr std::uint32_t kBlocks = kMostCodeInstructions / kCodeBlockInstructions;

// Sections are padded to whole multiples of a few instructions, so the difference of two is off by a little; a block of
// most GPUs is a whole number of 16-byte instructions.
double whole_instructions(double bytes) {
  constexpr double kInstruction = 16;
  constexpr double kPadding = 0.5;
  const double whole = std::round(bytes / kInstruction) * kInstruction;
  return std::abs(bytes - whole) <= kPadding ? whole : std::round(bytes * 100) / 100;
}

}  // namespace

void AccessModule::launch(const launch::AccessLaunch& launch, AccessParameters parameters) {
  if (!module_) module_.emplace(gpu_.driver(), generate_access_ptx(gpu_.target()));
  gpu_.run(module_->function(launch.kernel.c_str()), launch.kernel,
           {.blocks = launch.blocks,
            .threads = launch.threads,
            .shared_bytes = launch.shared_bytes,
            .carve_out_bytes = launch.carve_out_bytes},
           {&parameters});
}

void CodeModule::compile_once() {
  if (module_) return;
  const std::string binary = compile(*gpu_.driver(), generate_code_ptx(gpu_.target()));
  const auto long_bytes = static_cast<double>(code_bytes(binary, "code"));
  const auto short_bytes = static_cast<double>(code_bytes(binary, "short_code"));
  sizes_.block_bytes = whole_instructions((long_bytes - short_bytes) / (kBlocks - kShortCodeBlocks));
  sizes_.loop_bytes = static_cast<std::uint32_t>(std::max(0.0, short_bytes - sizes_.block_bytes * kShortCodeBlocks));
  module_.emplace(gpu_.driver(), binary);
}

launch::CodeSizes CodeModule::sizes() {
  compile_once();
  return sizes_;
}

void CodeModule::launch(const launch::CodeLaunch& launch, CodeParameters parameters) {
  compile_once();
  gpu_.run(module_->function("code"), "code",
           {.blocks = launch.blocks,
            .threads = launch.threads,
            .shared_bytes = launch.shared_bytes,
            .carve_out_bytes = launch.carve_out_bytes},
           {&parameters});
}

}  // namespace gputopo::cuda
