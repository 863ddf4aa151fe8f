// Runs launch programs, each alone: what the host's clock says of launches of a kernel that does nothing.
#pragma once

#include <memory>

#include "device/launch/launch_gpu.h"

namespace gputopo::launch {

// Kernels one after another that one call launches.
class LaunchGraph {
 public:
  LaunchGraph() = default;
  LaunchGraph(const LaunchGraph&) = delete;
  LaunchGraph& operator=(const LaunchGraph&) = delete;
  virtual ~LaunchGraph() = default;

  virtual void launch() const = 0;
};

// The kernel that does nothing, of a vendor. `arguments` are as the vendor's interface takes them.
class EmptyKernels {
 public:
  EmptyKernels() = default;
  EmptyKernels(const EmptyKernels&) = delete;
  EmptyKernels& operator=(const EmptyKernels&) = delete;
  virtual ~EmptyKernels() = default;

  // The kernel with so many bytes of arguments is launched from now on. Throws NotSupportedError for more than a kernel
  // takes.
  virtual void choose(std::uint32_t argument_bytes) = 0;
  virtual void launch(void** arguments) = 0;
  // Throws NotSupportedError where there are no graphs.
  [[nodiscard]] virtual std::unique_ptr<LaunchGraph> graph_of(std::uint32_t launches, void** arguments) = 0;
  // Until all have ended.
  virtual void wait() = 0;
};

class LaunchRunner {
 public:
  LaunchRunner(LaunchGpu& gpu, EmptyKernels& kernels) : gpu_(gpu), kernels_(kernels) {}

  // Throws what EmptyKernels does, and what the GPU throws.
  [[nodiscard]] ProgramResult run(const LaunchProgram& program);

 private:
  LaunchGpu& gpu_;
  EmptyKernels& kernels_;
};

}  // namespace gputopo::launch
