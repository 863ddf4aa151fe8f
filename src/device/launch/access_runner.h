// Runs access programs, each alone.
#pragma once

#include "device/launch/access_kernels.h"

namespace gputopo::launch {

class AccessRunner {
 public:
  AccessRunner(LaunchGpu& gpu, AccessGpu& kernels) : gpu_(gpu), kernels_(kernels) {}

  // Throws UsageError for a program that would take too long, NotSupportedError for more warps than a block holds,
  // DeviceError when a chain left its working set or the blocks did not start together, and what the GPU throws.
  [[nodiscard]] ProgramResult run(const AccessProgram& program);

 private:
  [[nodiscard]] AccessLaunch launch_of(const AccessProgram& program) const;
  // Brings the working set into device memory: links, or zeros.
  void fill(const AccessProgram& program, const AccessParameters& parameters, std::uint64_t carve_out_bytes);

  LaunchGpu& gpu_;
  AccessGpu& kernels_;
};

}  // namespace gputopo::launch
