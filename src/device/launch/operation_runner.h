// Runs operation programs, each alone. Launches are queued, and the host waits only for the last of a row.
#pragma once

#include <span>
#include <vector>

#include "device/launch/operation_kernels.h"
#include "device/launch/operation_layout.h"

namespace gputopo::launch {

class OperationRunner {
 public:
  using Kind = OperationProgram;

  OperationRunner(LaunchGpu& gpu, OperationGpu& kernels) : gpu_(gpu), kernels_(kernels) {}

  // Compiles what the operation programs among these need, together.
  void prepare(std::span<const Program> programs);
  // Begins to compile it beside other work, if the GPU's compiler can.
  void expect(std::span<const Program> programs);
  // Runs prepared programs. Throws UsageError for one that would take too long, NotSupportedError for more warps than a
  // block holds, DeviceError if the blocks did not start together, and what the GPU throws.
  [[nodiscard]] std::vector<ProgramResult> run(std::span<const OperationProgram* const> programs);

 private:
  struct Placed {
    const OperationProgram* program;
    OperationLaunch launch;
    OperationLayout layout;
    std::uint64_t offset = 0;  // offset of its memory in that of the row
  };
  // Returns the duration in ns, or 0 if it is unknown.
  std::uint64_t run_row(const std::vector<Placed>& row, std::uint64_t bytes, std::vector<ProgramResult>& results);
  [[nodiscard]] OperationLaunch launch_of(const OperationProgram& program) const;

  LaunchGpu& gpu_;
  OperationGpu& kernels_;
};

}  // namespace gputopo::launch
