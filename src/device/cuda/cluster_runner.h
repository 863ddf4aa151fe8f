// Runs cluster programs, each alone.
#pragma once

#include <optional>

#include "device/cuda/gpu.h"

namespace gputopo::cuda {

class ClusterRunner {
 public:
  explicit ClusterRunner(Gpu& gpu) : gpu_(gpu) {}

  // Called before anything of a batch runs. Whether a GPU has clusters shows only at the launch.
  static void check(const ClusterProgram&) {}
  // Compiles the kernels at the first call. Throws NotSupportedError if the GPU or the driver is too old or has no room
  // for such a cluster, UsageError if the program would take too long, DeviceError if a chain left its working set, a
  // copy did not arrive or the blocks did not start together, and what Gpu and Driver::check throw.
  [[nodiscard]] ProgramResult run(const ClusterProgram& program);

 private:
  void compile_once();
  [[nodiscard]] launch::KernelLaunch launch_of(const ClusterProgram& program) const;

  Gpu& gpu_;
  std::optional<Module> module_;
};

}  // namespace gputopo::cuda
