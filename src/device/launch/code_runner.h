// Runs instruction programs, each alone.
#pragma once

#include "device/launch/code_kernel.h"
#include "device/launch/code_layout.h"

namespace gputopo::launch {

class CodeRunner {
 public:
  CodeRunner(LaunchGpu& gpu, CodeGpu& kernel) : gpu_(gpu), kernel_(kernel) {}

  // Throws UsageError for a program that would take too long, NotSupportedError for an SM that this GPU does not have
  // or a step that its kernel has no code for, and what the GPU throws.
  [[nodiscard]] ProgramResult run(const InstructionProgram& program);

 private:
  [[nodiscard]] CodeLaunch launch_of(const CodeLayout& layout) const;

  LaunchGpu& gpu_;
  CodeGpu& kernel_;
};

}  // namespace gputopo::launch
