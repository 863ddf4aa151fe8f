// Runs instruction programs, each alone. Launches are queued, and the host waits only for the last of a row.
#pragma once

#include <span>
#include <vector>

#include "device/launch/code_kernel.h"
#include "device/launch/code_layout.h"

namespace gputopo::launch {

class CodeRunner {
 public:
  using Kind = InstructionProgram;

  CodeRunner(LaunchGpu& gpu, CodeGpu& kernel) : gpu_(gpu), kernel_(kernel) {}

  // Throws UsageError for a program that would take too long, NotSupportedError for an SM that this GPU does not have
  // or a step that its kernel has no code for, and what the GPU throws.
  [[nodiscard]] std::vector<ProgramResult> run(std::span<const InstructionProgram* const> programs);

 private:
  struct Placed {
    const InstructionProgram* program;
    CodeLayout layout;
    CodeLaunch launch;
    std::uint64_t offset = 0;  // offset of its memory in that of the row
    double started = 0;
  };
  [[nodiscard]] Placed place(const InstructionProgram& program);
  // Returns the duration in ns, or 0 if it is unknown.
  std::uint64_t run_row(std::vector<Placed>& row, std::uint64_t bytes, std::vector<ProgramResult>& results);
  [[nodiscard]] CodeLaunch launch_of(const CodeLayout& layout) const;

  LaunchGpu& gpu_;
  CodeGpu& kernel_;
};

}  // namespace gputopo::launch
