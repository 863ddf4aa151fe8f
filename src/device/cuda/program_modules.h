// The kernels of access and instruction programs on NVIDIA GPUs, compiled at their first launch.
#pragma once

#include <map>
#include <optional>

#include "device/cuda/gpu.h"
#include "device/launch/access_kernels.h"
#include "device/launch/code_kernel.h"

namespace gputopo::cuda {

class AccessModule : public launch::AccessGpu {
 public:
  explicit AccessModule(Gpu& gpu) : gpu_(gpu) {}

  void launch(const launch::AccessLaunch& launch, AccessParameters parameters) override;
  void set_constants(launch::Address image, std::uint64_t bytes) override;

 private:
  [[nodiscard]] const Module& module();

  Gpu& gpu_;
  std::optional<Module> module_;
};

class CodeModule : public launch::CodeGpu {
 public:
  explicit CodeModule(Gpu& gpu) : gpu_(gpu) {}

  [[nodiscard]] launch::CodeSizes sizes(CodeStepKind kind) override;
  void launch(const launch::CodeLaunch& launch, CodeParameters parameters) override;

 private:
  // Each compilation takes about a second.
  void compile_once();
  void compile_jumps_once();
  void compile_operands_once();
  [[nodiscard]] const Module& module_of(CodeStepKind kind);

  Gpu& gpu_;
  std::optional<Module> module_;
  launch::CodeSizes sizes_;
  std::optional<Module> jumps_;
  std::map<CodeStepKind, launch::CodeSizes> jump_sizes_;
  std::optional<Module> operands_;
  launch::CodeSizes operand_sizes_;
};

}  // namespace gputopo::cuda
