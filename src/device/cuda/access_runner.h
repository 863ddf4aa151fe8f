// Runs access programs, each alone.
#pragma once

#include <optional>

#include "device/cuda/gpu.h"

namespace gputopo::cuda {

class AccessRunner {
 public:
  explicit AccessRunner(Gpu& gpu) : gpu_(gpu) {}

  // Compiles the kernels at the first call. Throws UsageError for a program that would take too long, DeviceError when
  // a chain left its working set or the blocks did not start together, and what Gpu and Driver::check throw.
  [[nodiscard]] ProgramResult run(const AccessProgram& program);

 private:
  Gpu& gpu_;
  std::optional<Module> module_;
};

}  // namespace gputopo::cuda
