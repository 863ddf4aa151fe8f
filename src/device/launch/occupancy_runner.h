// Runs occupancy programs, each alone.
#pragma once

#include <span>

#include "device/launch/launch_gpu.h"

namespace gputopo::launch {

// A vendor's kernels whose blocks stay for a while.
class OccupancyGpu {
 public:
  OccupancyGpu() = default;
  OccupancyGpu(const OccupancyGpu&) = delete;
  OccupancyGpu& operator=(const OccupancyGpu&) = delete;
  virtual ~OccupancyGpu() = default;

  // Compiles the kernels for these register counts, together, if they are new. Throws NotSupportedError for a count
  // that it cannot provide.
  virtual void prepare(std::span<const std::uint32_t> registers) = 0;
  // Registers that the threads of a prepared kernel have; 0 if unknown.
  [[nodiscard]] virtual std::uint32_t registers_of(std::uint32_t registers) const = 0;
  virtual void launch(std::uint32_t registers, const KernelLaunch& launch, OccupancyParameters parameters) = 0;
};

class OccupancyRunner {
 public:
  OccupancyRunner(LaunchGpu& gpu, OccupancyGpu& kernels) : gpu_(gpu), kernels_(kernels) {}

  // Compiles what the occupancy programs among these need.
  void prepare(std::span<const Program> programs);
  // Runs a prepared program. Throws NotSupportedError for too much shared memory, and what the GPU throws.
  [[nodiscard]] ProgramResult run(const OccupancyProgram& program);

 private:
  LaunchGpu& gpu_;
  OccupancyGpu& kernels_;
};

}  // namespace gputopo::launch
