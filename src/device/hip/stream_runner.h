// Runs stream programs on AMD GPUs, each alone, with a kernel compiled for its shape.
#pragma once

#include <map>

#include "device/hip/gpu.h"

namespace gputopo::hip {

[[nodiscard]] StreamShape shape_of(const StreamProgram& program);

class StreamRunner {
 public:
  explicit StreamRunner(Gpu& gpu) : gpu_(gpu) {}

  // Throws NotSupportedError for what this GPU cannot hold, and what Runtime::check throws. Never more blocks than are
  // resident at a time, so blocks_per_sm may not be reached.
  [[nodiscard]] ProgramResult run(const StreamProgram& program);

 private:
  [[nodiscard]] const Module& module_of(const StreamShape& shape);

  Gpu& gpu_;
  std::map<StreamShape, Module> modules_;
};

}  // namespace gputopo::hip
