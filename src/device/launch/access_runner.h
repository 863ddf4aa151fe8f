// Runs access programs, each alone. Launches are queued, and the host waits only for the last of a row.
#pragma once

#include <span>
#include <vector>

#include "device/launch/access_kernels.h"
#include "device/launch/access_layout.h"

namespace gputopo::launch {

class AccessRunner {
 public:
  using Kind = AccessProgram;

  AccessRunner(LaunchGpu& gpu, AccessGpu& kernels) : gpu_(gpu), kernels_(kernels) {}

  // Throws UsageError for a program that would take too long, NotSupportedError for more warps than a block holds,
  // DeviceError if a chain left its working set or the blocks did not start together, and what the GPU throws.
  [[nodiscard]] std::vector<ProgramResult> run(std::span<const AccessProgram* const> programs);

 private:
  struct Placed {
    const AccessProgram* program;
    AccessLaunch launch;
    AccessLayout layout;
    std::uint64_t offset = 0;  // offset of its memory in that of the row
  };
  [[nodiscard]] Placed place(const AccessProgram& program) const;
  // Returns the duration in ns, or 0 if it is unknown.
  std::uint64_t run_row(const std::vector<Placed>& row, std::uint64_t bytes, std::vector<ProgramResult>& results);
  [[nodiscard]] AccessLaunch launch_of(const AccessProgram& program) const;
  // Writes the working set to device memory: links, or zeros.
  void fill(const AccessProgram& program, const AccessParameters& parameters, std::uint64_t carve_out_bytes);

  LaunchGpu& gpu_;
  AccessGpu& kernels_;
};

}  // namespace gputopo::launch
