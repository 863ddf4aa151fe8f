// Runs launch programs, each alone: launches of an empty kernel, timed by the host's clock.
#pragma once

#include <memory>

#include "device/launch/launch_gpu.h"

namespace gputopo::launch {

// A sequence of kernels that one call launches.
class LaunchGraph {
 public:
  LaunchGraph() = default;
  LaunchGraph(const LaunchGraph&) = delete;
  LaunchGraph& operator=(const LaunchGraph&) = delete;
  virtual ~LaunchGraph() = default;

  virtual void launch() const = 0;
};

// A vendor's empty kernel. `arguments` are in the form of the vendor's interface.
class EmptyKernels {
 public:
  EmptyKernels() = default;
  EmptyKernels(const EmptyKernels&) = delete;
  EmptyKernels& operator=(const EmptyKernels&) = delete;
  virtual ~EmptyKernels() = default;

  // Selects the kernel with so many bytes of arguments. Throws NotSupportedError for more than a kernel takes.
  virtual void choose(std::uint32_t argument_bytes) = 0;
  virtual void launch(void** arguments) = 0;
  // Throws NotSupportedError if there are no graphs.
  [[nodiscard]] virtual std::unique_ptr<LaunchGraph> graph_of(std::uint32_t launches, void** arguments) = 0;
  // Waits until all launches have ended.
  virtual void wait() = 0;
};

class LaunchRunner {
 public:
  LaunchRunner(LaunchGpu& gpu, EmptyKernels& kernels) : gpu_(gpu), kernels_(kernels) {}

  // Throws what EmptyKernels and the GPU throw.
  [[nodiscard]] ProgramResult run(const LaunchProgram& program);

 private:
  LaunchGpu& gpu_;
  EmptyKernels& kernels_;
};

}  // namespace gputopo::launch
