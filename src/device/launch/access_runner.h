// Runs access programs, each alone: one behind the other, and nobody waits for each.
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
  // DeviceError when a chain left its working set or the blocks did not start together, and what the GPU throws.
  [[nodiscard]] std::vector<ProgramResult> run(std::span<const AccessProgram* const> programs);

 private:
  // A program of a row of launches.
  struct Placed {
    const AccessProgram* program;
    AccessLaunch launch;
    AccessLayout layout;
    std::uint64_t offset = 0;  // of its memory in that of the row
  };
  [[nodiscard]] Placed place(const AccessProgram& program) const;
  // Returns how long it took, 0 where nobody tells.
  std::uint64_t run_row(const std::vector<Placed>& row, std::uint64_t bytes, std::vector<ProgramResult>& results);
  [[nodiscard]] AccessLaunch launch_of(const AccessProgram& program) const;
  // Brings the working set into device memory: links, or zeros.
  void fill(const AccessProgram& program, const AccessParameters& parameters, std::uint64_t carve_out_bytes);

  LaunchGpu& gpu_;
  AccessGpu& kernels_;
};

}  // namespace gputopo::launch
