#include "device/cuda/operation_modules.h"

#include <fmt/format.h>

#include <algorithm>

#include "device/cuda/machine_code.h"
#include "device/cuda/operation_ptx.h"
#include "gputopo/error.h"
#include "operation/capability.h"

namespace gputopo::cuda {
namespace {

using launch::OperationShape;

// Kernels of one module.
constexpr std::size_t kMostKernels = 32;

// Bytes of an instruction, with its share of the control words. On Maxwell and Pascal, one stands before every three
// instructions, on Kepler before every seven (maxas, "Control Codes"). Later instructions contain theirs.
double instruction_bytes_of(int sm) {
  if (sm >= 70) return 16;
  return sm >= 50 ? 32.0 / 3 : 64.0 / 7;
}

// The assembler's first complaint.
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

}  // namespace

std::string OperationModules::refusal_of(const OperationShape& shape) const {
  if (!shape.has_text(&OperationInfo::ptx)) return "NVIDIA GPUs have no instruction for this operation";
  for (std::uint32_t stream = 0; stream < std::min(shape.streams, 2u); ++stream) {
    if (std::string refusal = refusal_by_capability(gpu_.target().sm, shape.operation_of(stream)); !refusal.empty()) {
      return refusal;
    }
  }
  const OperandType type = info_of(shape.operation).type;
  if (warps_per_operation(type) > 1 && !is_own_target(gpu_.target(), gpu_.info())) {
    return "the driver is too old for instructions specific to this GPU; update the NVIDIA driver";
  }
  const bool needs_warpgroups = warps_per_operation(type) > 1 && type != OperandType::kTensorMemory;
  if (needs_warpgroups && !has_warpgroups(gpu_.target(), gpu_.driver()->version())) {
    return "this operation needs compute capability 9.0 exactly and a driver for CUDA 12.0 or later";
  }
  return {};
}

// The driver's compiler takes nearly all the time, and uses one thread for each module.
void OperationModules::begin(std::span<const OperationShape> shapes) {
  std::vector<OperationShape> missing;
  for (const OperationShape& shape : shapes) {
    const bool is_begun = std::ranges::any_of(
        begun_, [&](const Part& part) { return std::ranges::find(part.shapes, shape) != part.shapes.end(); });
    if (is_begun || kernels_.contains(shape)) continue;
    std::string refusal = refusal_of(shape);
    if (refusal.empty()) {
      missing.push_back(shape);
    } else {
      kernels_[shape].code.refusal = std::move(refusal);
    }
  }
  const PtxTarget target =
      operation_target(gpu_.target(), gpu_.driver()->version(), is_own_target(gpu_.target(), gpu_.info()));
  for (std::vector<OperationShape>& part : CompileAhead::parts_of(missing, kMostKernels)) {
    // Captured by value: a hung compiler may outlive this object.
    auto compiled = gpu_.compiler().begin<Compiled>(
        [driver = gpu_.driver(), target, part] { return compile_part(*driver, target, part); });
    begun_.push_back({std::move(part), std::move(compiled)});
  }
}

void OperationModules::expect(std::span<const OperationShape> shapes) { begin(shapes); }

void OperationModules::prepare(std::span<const OperationShape> shapes) {
  begin(shapes);
  std::erase_if(begun_, [&](const Part& part) {
    if (std::ranges::find_first_of(part.shapes, shapes) == part.shapes.end()) return false;
    add(part.compiled.get());
    return true;
  });
}

void OperationModules::add(const Compiled& part) {
  for (const auto& [shape, message] : part.refused) {
    kernels_[shape].code.refusal = "the driver's compiler rejects this operation: " + first_complaint(message);
  }
  for (const auto& [binary, of_module] : part.binaries) add_module(binary, of_module);
}

OperationModules::Compiled OperationModules::compile_part(const Driver& driver, const PtxTarget& target,
                                                          std::span<const OperationShape> shapes) {
  Compiled compiled;
  launch::compile_in_parts(
      shapes,
      [&](std::span<const OperationShape> some) {
        std::string binary = cuda::compile(driver, generate_operation_ptx(target, some), kOperationOptimization);
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
    kernels_[shape] = {.code = {.refusal = refusal_of_spills(module, shape),
                                .code_bytes = std::max(0.0, bytes - frame_bytes) / rounds_of_pass(shape),
                                .instruction_bytes = instruction_bytes},
                       .module = &module};
  }
}

std::string OperationModules::refusal_of_spills(const Module& module, const OperationShape& shape) const {
  const OperandType type = info_of(shape.operation).type;
  if (!is_matrix_of_few_bits(type) && type != OperandType::kMatrixF16Four) return {};
  int bytes = 0;
  gpu_.driver()->check(
      gpu_.driver()->func_get_attribute(&bytes, FunctionAttribute::kLocalBytes, module.function(shape.kernel_name())),
      "cuFuncGetAttribute");
  return launch::refusal_of_spills(shape, static_cast<std::uint64_t>(std::max(0, bytes)));
}

void OperationModules::launch(const launch::OperationLaunch& launch, OperationParameters parameters) {
  const std::string name = launch.shape.kernel_name();
  const FunctionHandle function = kernels_.at(launch.shape).module->function(name);
  const launch::KernelLaunch kernel{.blocks = launch.blocks,
                                    .threads = launch.threads,
                                    .shared_bytes = launch.shared_bytes,
                                    .carve_out_bytes = launch.carve_out_bytes,
                                    .cluster_size = launch.cluster_size};
  if (launch.cluster_size > 0) {
    gpu_.require_clusters();
    static_cast<void>(gpu_.cluster_room(function, kernel));
  }
  gpu_.run(function, name, kernel, {&parameters});
}

}  // namespace gputopo::cuda
