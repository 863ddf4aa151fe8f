#include "device/cuda/operation_modules.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <thread>

#include "device/cuda/machine_code.h"
#include "device/cuda/operation_ptx.h"
#include "device/driver_call.h"
#include "gputopo/error.h"

namespace gputopo::cuda {
namespace {

using launch::OperationShape;

// Seen of the driver for an H200: 54 ms for a kernel of 512 operations, and a little more than half without what the
// higher levels look for. What they would merge is what is not wanted.
constexpr unsigned kOptimization = 1;
// Of a module.
constexpr std::size_t kMostKernels = 32;

std::size_t threads() {
  constexpr std::size_t kMostThreads = 16;
  return std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, kMostThreads);
}

// Of a GPU of this compute capability, with its share of the words that control several of them. From Maxwell on these
// stand before every three, on Kepler before every seven (maxas, "Control Codes").
double instruction_bytes_of(int sm) {
  if (sm >= 70) return 16;
  return sm >= 50 ? 32.0 / 3 : 64.0 / 7;
}

// The first thing that the assembler had to say.
std::string first_complaint(std::string_view message) {
  constexpr std::string_view kLog = "; log: ";
  constexpr std::size_t kMostCharacters = 160;
  const std::size_t log = message.find(kLog);
  std::string_view text = log == std::string_view::npos ? message : message.substr(log + kLog.size());
  constexpr std::string_view kAssembler = "ptxas ";
  if (text.starts_with(kAssembler)) text = text.substr(0, text.find(kAssembler, kAssembler.size()));
  while (text.ends_with(' ')) text.remove_suffix(1);
  return std::string(text.substr(0, kMostCharacters));
}

int last_sm(const OperationShape& shape) {
  int sm = 0;
  for (std::uint32_t stream = 0; stream < std::min(shape.streams, 2u); ++stream) {
    sm = std::max(sm, shape.operation_of(stream).first_sm);
  }
  return sm;
}

}  // namespace

void OperationModules::prepare(std::span<const OperationShape> shapes) {
  const int version = gpu_.driver()->version();
  std::vector<OperationShape> missing;
  for (const OperationShape& shape : shapes) {
    if (kernels_.contains(shape)) continue;
    const int first_sm = last_sm(shape);
    if (first_sm > gpu_.target().sm) {
      kernels_[shape].code.refusal =
          fmt::format("needs compute capability {}.{}, and a driver that knows it", first_sm / 10, first_sm % 10);
    } else if (warps_together(info_of(shape.operation).type) > 1 && !has_warpgroups(gpu_.target(), version)) {
      kernels_[shape].code.refusal = "needs compute capability 9.0, no other, and a driver of CUDA 12.0 or later";
    } else {
      missing.push_back(shape);
    }
  }
  for (Compiled& part : compile(missing)) {
    for (const auto& [shape, message] : part.refused) {
      kernels_[shape].code.refusal = "the driver's compiler refuses it: " + first_complaint(message);
    }
    for (const auto& [binary, of_module] : part.binaries) add_module(binary, of_module);
  }
}

// The driver's compiler is what takes the time, and takes one thread for each module.
std::vector<OperationModules::Compiled> OperationModules::compile(std::span<const OperationShape> shapes) const {
  const std::size_t each = std::max<std::size_t>(1, std::min(kMostKernels, shapes.size() / threads() + 1));
  std::vector<std::future<Compiled>> parts;
  for (std::size_t first = 0; first < shapes.size(); first += each) {
    const auto part = shapes.subspan(first, std::min(each, shapes.size() - first));
    parts.push_back(std::async(std::launch::async, [this, part] { return compile_part(part); }));
  }
  std::vector<Compiled> compiled;
  const InDriverCall call("cuLinkAddData");  // which the others are in
  for (std::future<Compiled>& part : parts) compiled.push_back(part.get());
  return compiled;
}

OperationModules::Compiled OperationModules::compile_part(std::span<const OperationShape> shapes) const {
  gpu_.use_in_this_thread();
  const PtxTarget target = operation_target(gpu_.target(), gpu_.driver()->version());
  Compiled compiled;
  launch::compile_in_parts(
      shapes,
      [&](std::span<const OperationShape> some) {
        std::string binary = cuda::compile(*gpu_.driver(), generate_operation_ptx(target, some), kOptimization);
        compiled.binaries.emplace_back(std::move(binary), std::vector(some.begin(), some.end()));
      },
      [&](const OperationShape& shape, const std::string& message) { compiled.refused.emplace_back(shape, message); });
  return compiled;
}

void OperationModules::add_module(const std::string& binary, const std::vector<OperationShape>& shapes) {
  const Module& module = modules_.emplace_back(gpu_.driver(), binary);
  const int capability =
      10 * gpu_.info().compute_capability_major.value_or(0) + gpu_.info().compute_capability_minor.value_or(0);
  const double instruction_bytes = instruction_bytes_of(capability);
  const auto frame_bytes = static_cast<double>(code_bytes(binary, kFrameKernel)) - kFrameOperations * instruction_bytes;
  for (const OperationShape& shape : shapes) {
    const auto bytes = static_cast<double>(code_bytes(binary, shape.kernel_name()));
    kernels_[shape] = {.code = {.refusal = {},
                                .code_bytes = std::max(0.0, bytes - frame_bytes),
                                .instruction_bytes = instruction_bytes},
                       .module = &module};
  }
}

void OperationModules::launch(const launch::OperationLaunch& launch, OperationParameters parameters) {
  const std::string name = launch.shape.kernel_name();
  gpu_.run(kernels_.at(launch.shape).module->function(name), name,
           {.blocks = launch.blocks,
            .threads = launch.threads,
            .shared_bytes = launch.shared_bytes,
            .carve_out_bytes = launch.carve_out_bytes},
           {&parameters});
}

}  // namespace gputopo::cuda
