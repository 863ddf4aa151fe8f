// Runs cluster programs, each alone.
#pragma once

#include <optional>

#include "device/cuda/gpu.h"

namespace gputopo::cuda {

class ClusterRunner {
 public:
  explicit ClusterRunner(Gpu& gpu) : gpu_(gpu) {}

  // Before anything of a batch runs: some GPUs have clusters, and which do shows when they are launched.
  static void check(const ClusterProgram&) {}
  // Compiles the kernels at the first call. Throws NotSupportedError where the GPU or the driver is too old, or has no
  // room for such a cluster, UsageError for a program that would take too long, DeviceError when a chain left its
  // working set, a copy did not arrive or the blocks did not start together, and what Gpu and Driver::check throw.
  [[nodiscard]] ProgramResult run(const ClusterProgram& program);

 private:
  void compile_once();
  [[nodiscard]] launch::KernelLaunch launch_of(const ClusterProgram& program) const;

  Gpu& gpu_;
  std::optional<Module> module_;
};

}  // namespace gputopo::cuda
