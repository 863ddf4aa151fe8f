// Runs launch programs, each alone.
#pragma once

#include <map>

#include "device/cuda/gpu.h"

namespace gputopo::cuda {

class LaunchRunner {
 public:
  explicit LaunchRunner(Gpu& gpu) : gpu_(gpu) {}

  static void check(const LaunchProgram&) {}
  // Compiles the kernel at the first call. Throws NotSupportedError for more arguments than the driver takes, and where
  // it has no graphs, and what Gpu and Driver::check throw.
  [[nodiscard]] ProgramResult run(const LaunchProgram& program);

 private:
  [[nodiscard]] FunctionHandle kernel_with(std::uint32_t argument_bytes);

  Gpu& gpu_;
  std::map<std::uint32_t, Module> modules_;  // by the bytes of arguments
};

}  // namespace gputopo::cuda
