// The kernel of occupancy programs on AMD GPUs, compiled at its first launch.
#pragma once

#include <optional>

#include "device/hip/gpu.h"
#include "device/launch/occupancy_runner.h"

namespace gputopo::hip {

class OccupancyModule : public launch::OccupancyGpu {
 public:
  explicit OccupancyModule(Gpu& gpu) : gpu_(gpu) {}

  void prepare(std::span<const std::uint32_t> registers) override;
  [[nodiscard]] std::uint32_t registers_of(std::uint32_t) const override { return 0; }
  void launch(std::uint32_t registers, const launch::KernelLaunch& launch,
              launch::OccupancyParameters parameters) override;

 private:
  Gpu& gpu_;
  std::optional<Module> module_;
};

}  // namespace gputopo::hip
