// Runs occupancy programs, each alone.
#pragma once

#include <list>
#include <map>
#include <span>

#include "device/cuda/gpu.h"

namespace gputopo::cuda {

class OccupancyRunner {
 public:
  explicit OccupancyRunner(Gpu& gpu) : gpu_(gpu) {}

  static void check(const OccupancyProgram&) {}
  // Compiles the kernels that were not yet.
  void prepare(std::span<const Program> programs);
  // Throws NotSupportedError for more shared memory than a block may have, and what Gpu and Driver::check throw.
  [[nodiscard]] ProgramResult run(const OccupancyProgram& program);

 private:
  struct Kernel {
    FunctionHandle function = nullptr;
    std::uint32_t registers = 0;
  };

  void add_kernel(const Module& module, std::uint32_t count);

  Gpu& gpu_;
  std::list<Module> modules_;
  std::map<std::uint32_t, Kernel> kernels_;  // by the registers that their threads keep
};

}  // namespace gputopo::cuda
