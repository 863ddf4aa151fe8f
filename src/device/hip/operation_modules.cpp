#include "device/hip/operation_modules.h"

#include <algorithm>
#include <vector>

#include "device/hip/operation_source.h"

namespace gputopo::hip {
namespace {

using launch::OperationShape;

// The first error message, without its location.
std::string first_complaint(const std::string& message) {
  constexpr std::string_view kError = "error: ";
  constexpr std::size_t kMostCharacters = 160;
  const std::size_t at = message.find(kError);
  const std::string text = at == std::string::npos ? message : message.substr(at + kError.size());
  return text.substr(0, std::min(text.find('\n'), kMostCharacters));
}

}  // namespace

void OperationModules::prepare(std::span<const OperationShape> shapes) {
  std::vector<OperationShape> missing;
  for (const OperationShape& shape : shapes) {
    if (kernels_.contains(shape)) continue;
    if (shape.has_text(&OperationInfo::cdna)) {
      missing.push_back(shape);
    } else {
      kernels_[shape].code.refusal = "AMD GPUs have no single instruction for this operation";
    }
  }
  launch::compile_in_parts(
      missing,
      [this](std::span<const OperationShape> some) {
        const std::string source = generate_operation_source(gpu_.target(), some);
        const Module& module =
            modules_.emplace_back(gpu_.runtime(), gpu_.runtime()->compile(source, gpu_.target().name));
        for (const OperationShape& shape : some) kernels_[shape].module = &module;
      },
      [this](const OperationShape& shape, const std::string& message) {
        kernels_[shape].code.refusal = "the compiler rejects this operation: " + first_complaint(message);
      });
}

void OperationModules::launch(const launch::OperationLaunch& launch, launch::OperationParameters parameters) {
  const std::string name = launch.shape.kernel_name();
  std::uint32_t blocks = launch.blocks;
  std::uint32_t threads = launch.threads;
  gpu_.run(kernels_.at(launch.shape).module->function(name.c_str()), name,
           {.blocks = blocks + launch.surplus_blocks, .threads = threads, .shared_bytes = launch.shared_bytes},
           {&parameters, &blocks, &threads});
}

}  // namespace gputopo::hip
