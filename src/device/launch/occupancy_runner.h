// Runs occupancy programs, each alone.
#pragma once

#include <span>

#include "device/launch/launch_gpu.h"

namespace gputopo::launch {

// The kernels whose blocks stay, of a vendor.
class OccupancyGpu {
 public:
  OccupancyGpu() = default;
  OccupancyGpu(const OccupancyGpu&) = delete;
  OccupancyGpu& operator=(const OccupancyGpu&) = delete;
  virtual ~OccupancyGpu() = default;

  // Compiles the kernels whose threads keep so many registers, together, where they are not there yet. Throws
  // NotSupportedError for a number of them that it cannot give.
  virtual void prepare(std::span<const std::uint32_t> registers) = 0;
  // How many the threads of a kernel that was prepared have; 0 where nobody tells.
  [[nodiscard]] virtual std::uint32_t registers_of(std::uint32_t registers) const = 0;
  // Runs one until it has ended.
  virtual void launch(std::uint32_t registers, const KernelLaunch& launch, OccupancyParameters parameters) = 0;
};

class OccupancyRunner {
 public:
  OccupancyRunner(LaunchGpu& gpu, OccupancyGpu& kernels) : gpu_(gpu), kernels_(kernels) {}

  // Compiles what the occupancy programs among these need.
  void prepare(std::span<const Program> programs);
  // Of a program that was prepared. Throws NotSupportedError for more shared memory than a block may have, and what the
  // GPU throws.
  [[nodiscard]] ProgramResult run(const OccupancyProgram& program);

 private:
  LaunchGpu& gpu_;
  OccupancyGpu& kernels_;
};

}  // namespace gputopo::launch
