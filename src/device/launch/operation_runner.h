// Runs operation programs, each alone.
#pragma once

#include <span>

#include "device/launch/operation_kernels.h"

namespace gputopo::launch {

class OperationRunner {
 public:
  OperationRunner(LaunchGpu& gpu, OperationGpu& kernels) : gpu_(gpu), kernels_(kernels) {}

  // Compiles what the operation programs among these need, together.
  void prepare(std::span<const Program> programs);
  // Begins to, beside what runs meanwhile, where the GPU's compiler can.
  void expect(std::span<const Program> programs);
  // Of a program that was prepared. Throws UsageError for one that would take too long, NotSupportedError for more
  // warps than a block holds, DeviceError when the blocks did not start together, and what the GPU throws.
  [[nodiscard]] ProgramResult run(const OperationProgram& program);

 private:
  [[nodiscard]] OperationLaunch launch_of(const OperationProgram& program) const;

  LaunchGpu& gpu_;
  OperationGpu& kernels_;
};

}  // namespace gputopo::launch
