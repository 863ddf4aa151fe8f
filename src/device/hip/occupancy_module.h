// The kernels of occupancy programs on AMD GPUs, compiled on demand.
#pragma once

#include <list>
#include <map>

#include "device/hip/gpu.h"
#include "device/launch/occupancy_runner.h"

namespace gputopo::hip {

class OccupancyModule : public launch::OccupancyGpu {
 public:
  explicit OccupancyModule(Gpu& gpu) : gpu_(gpu) {}

  // Throws NotSupportedError for fewer registers than the kernel itself may need.
  void prepare(std::span<const std::uint32_t> registers) override;
  // The compiler is made to allocate as many as requested.
  [[nodiscard]] std::uint32_t registers_of(std::uint32_t registers) const override { return registers; }
  void launch(std::uint32_t registers, const launch::KernelLaunch& launch,
              launch::OccupancyParameters parameters) override;

 private:
  Gpu& gpu_;
  std::list<Module> modules_;
  std::map<std::uint32_t, FunctionHandle> kernels_;  // by the registers of a thread; 0: as many as needed
};

}  // namespace gputopo::hip
