// The kernel that runs instruction programs: how a vendor launches it, and the size of its code.
#pragma once

#include "device/launch/launch_gpu.h"

namespace gputopo::launch {

struct CodeSizes {
  double block_bytes = 0;        // size of kCodeBlockInstructions, or of one jump or operand
  std::uint32_t loop_bytes = 0;  // other code that a pass runs, at most
};

struct CodeLaunch {
  std::uint32_t blocks = 1;
  std::uint32_t threads = 32;
  std::uint64_t shared_bytes = 0;          // dynamic shared memory
  std::uint64_t carve_out_bytes = 0;       // ignored if carve-outs are fixed
  CodeStepKind kind = CodeStepKind::kRun;  // kind of the first step
  bool has_lead = false;                   // whether a step begins in the lead
};

class CodeGpu {
 public:
  CodeGpu() = default;
  CodeGpu(const CodeGpu&) = delete;
  CodeGpu& operator=(const CodeGpu&) = delete;
  virtual ~CodeGpu() = default;

  virtual void check(const InstructionProgram&) const {}
  // Sizes of the compiled code, for programs whose first step is of this kind.
  [[nodiscard]] virtual CodeSizes sizes(CodeStepKind kind) = 0;
  // Returns when the kernel has ended, or when it is queued while launches are held. Throws if it failed.
  virtual void launch(const CodeLaunch& launch, CodeParameters parameters) = 0;
};

}  // namespace gputopo::launch
