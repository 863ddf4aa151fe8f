// The kernels of occupancy programs on NVIDIA GPUs, one for each number of registers that their threads keep.
#pragma once

#include <list>
#include <map>
#include <span>

#include "device/cuda/gpu.h"
#include "device/launch/occupancy_runner.h"

namespace gputopo::cuda {

class OccupancyModules : public launch::OccupancyGpu {
 public:
  explicit OccupancyModules(Gpu& gpu) : gpu_(gpu) {}

  void prepare(std::span<const std::uint32_t> registers) override;
  [[nodiscard]] std::uint32_t registers_of(std::uint32_t registers) const override {
    return kernels_.at(registers).registers;
  }
  void launch(std::uint32_t registers, const launch::KernelLaunch& launch,
              launch::OccupancyParameters parameters) override;

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
