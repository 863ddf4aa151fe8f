// The kernel that does nothing, on NVIDIA GPUs.
#pragma once

#include <map>

#include "device/cuda/gpu.h"
#include "device/launch/launch_runner.h"

namespace gputopo::cuda {

class EmptyKernels : public launch::EmptyKernels {
 public:
  explicit EmptyKernels(Gpu& gpu) : gpu_(gpu) {}

  void choose(std::uint32_t argument_bytes) override;
  void launch(void** arguments) override;
  [[nodiscard]] std::unique_ptr<launch::LaunchGraph> graph_of(std::uint32_t launches, void** arguments) override;
  void wait() override;

 private:
  Gpu& gpu_;
  std::map<std::uint32_t, Module> modules_;  // by the bytes of arguments
  FunctionHandle kernel_ = nullptr;          // the chosen one
};

}  // namespace gputopo::cuda
