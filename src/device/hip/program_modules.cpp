#include "device/hip/program_modules.h"

#include <array>

#include "device/hip/access_source.h"
#include "device/hip/code_source.h"
#include "device/hip/gfx_target.h"
#include "gputopo/error.h"

namespace gputopo::hip {

void AccessModule::launch(const launch::AccessLaunch& launch, launch::AccessParameters parameters) {
  if (launch.bank_mode_bytes != 0) throw NotSupportedError("the LDS of AMD GPUs has only one bank mode");
  if (!module_) {
    module_.emplace(gpu_.runtime(), gpu_.runtime()->compile(generate_access_source(gpu_.target()), gpu_.target().name));
  }
  std::uint32_t blocks = launch.blocks;
  std::uint32_t threads = launch.threads;
  gpu_.run(module_->function(launch.kernel.c_str()), launch.kernel,
           {.blocks = blocks + launch.surplus_blocks, .threads = threads, .shared_bytes = launch.shared_bytes},
           {&parameters, &blocks, &threads});
}

void CodeModule::check(const InstructionProgram& program) const {
  for (const CodeStep& step : program.steps) {
    if (step.kind == CodeStepKind::kConstants) throw NotSupportedError("AMD GPUs have no constant bank");
    if (is_counted(step.kind)) {
      throw NotSupportedError("code with jumps or constant operands cannot be measured on AMD GPUs");
    }
  }
}

const Module& CodeModule::module() {
  if (!module_) {
    module_.emplace(gpu_.runtime(), gpu_.runtime()->compile(generate_code_source(gpu_.target()), gpu_.target().name));
  }
  return *module_;
}

launch::CodeSizes CodeModule::sizes(CodeStepKind) {
  if (!sizes_) {
    std::array<std::uint32_t, 2> bytes{};  // of the stretch and of the loop around it
    launch::Address address = gpu_.reserve(sizeof(bytes));
    gpu_.run(module().function("code_sizes"), "code_sizes", {.threads = kWavefront}, {&address});
    gpu_.download(bytes.data(), address, sizeof(bytes));
    sizes_ = {static_cast<double>(bytes[0]) / kMaxCodeBlocks, bytes[1]};
  }
  return *sizes_;
}

void CodeModule::launch(const launch::CodeLaunch& launch, launch::CodeParameters parameters) {
  std::set<std::uint32_t> sms(std::begin(parameters.wanted_sm), std::end(parameters.wanted_sm));
  sms.erase(launch::kAnySm);
  gpu_.run(module().function("code"), "code",
           {.blocks = launch.blocks, .threads = launch.threads, .shared_bytes = launch.shared_bytes, .sms = sms},
           {&parameters});
}

}  // namespace gputopo::hip
