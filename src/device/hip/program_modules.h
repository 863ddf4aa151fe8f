// The kernels of access and instruction programs on AMD GPUs, compiled at their first launch.
#pragma once

#include <optional>

#include "device/hip/gpu.h"
#include "device/launch/access_kernels.h"
#include "device/launch/code_kernel.h"

namespace gputopo::hip {

class AccessModule : public launch::AccessGpu {
 public:
  explicit AccessModule(Gpu& gpu) : gpu_(gpu) {}

  void launch(const launch::AccessLaunch& launch, launch::AccessParameters parameters) override;

 private:
  Gpu& gpu_;
  std::optional<Module> module_;
};

class CodeModule : public launch::CodeGpu {
 public:
  explicit CodeModule(Gpu& gpu) : gpu_(gpu) {}

  void check(const InstructionProgram& program) const override;
  [[nodiscard]] launch::CodeSizes sizes(CodeStepKind kind) override;
  void launch(const launch::CodeLaunch& launch, launch::CodeParameters parameters) override;

 private:
  [[nodiscard]] const Module& module();

  Gpu& gpu_;
  std::optional<Module> module_;
  std::optional<launch::CodeSizes> sizes_;
};

}  // namespace gputopo::hip
