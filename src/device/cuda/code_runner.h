// Runs instruction programs, each alone.
#pragma once

#include <optional>

#include "device/cuda/gpu.h"

namespace gputopo::cuda {

class CodeRunner {
 public:
  explicit CodeRunner(Gpu& gpu) : gpu_(gpu) {}

  // Compiles the code at the first call: a second or so. Throws UsageError for a program that would take too long,
  // NotSupportedError for an SM that this GPU does not have, and what Driver::check throws.
  [[nodiscard]] ProgramResult run(const InstructionProgram& program);

 private:
  struct Code {
    Module module;
    double block_bytes;
    std::uint32_t loop_bytes;
  };
  const Code& code();

  Gpu& gpu_;
  std::optional<Code> code_;
};

}  // namespace gputopo::cuda
