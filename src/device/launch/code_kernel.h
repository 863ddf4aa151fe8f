// The kernel that runs instruction programs: how a vendor's is launched, and how large its code is.
#pragma once

#include "device/launch/launch_gpu.h"

namespace gputopo::launch {

struct CodeSizes {
  double block_bytes = 0;        // of kCodeBlockInstructions, or of one jump or operand
  std::uint32_t loop_bytes = 0;  // of code that a pass runs beside them, at most
};

struct CodeLaunch {
  std::uint32_t blocks = 1;
  std::uint32_t threads = 32;
  std::uint64_t shared_bytes = 0;          // dynamic
  std::uint64_t carve_out_bytes = 0;       // ignored where carve-outs are fixed
  CodeStepKind kind = CodeStepKind::kRun;  // of the first step
  bool has_lead = false;                   // some step begins in the lead
};

class CodeGpu {
 public:
  CodeGpu() = default;
  CodeGpu(const CodeGpu&) = delete;
  CodeGpu& operator=(const CodeGpu&) = delete;
  virtual ~CodeGpu() = default;

  // Throws NotSupportedError for a program that the kernel cannot run.
  virtual void check(const InstructionProgram&) const {}
  // As it was compiled, for programs whose first step is of this kind.
  [[nodiscard]] virtual CodeSizes sizes(CodeStepKind kind) = 0;
  // Returns once the kernel has ended, or is queued where launches are held; throws when it failed.
  virtual void launch(const CodeLaunch& launch, CodeParameters parameters) = 0;
};

}  // namespace gputopo::launch
