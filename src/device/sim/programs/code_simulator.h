// Instruction programs on a simulated machine.
#pragma once

#include <cstdint>
#include <list>
#include <vector>

#include "device/sim/memory/hierarchy.h"
#include "device/sim/memory/noise.h"

namespace gputopo::sim {

// Cycles of each pass of each step, on a machine without noise.
using CodeBehaviour = std::vector<std::vector<double>>;

// `hierarchy` belongs to the machine and starts with empty caches, as for every program. `seed` drives random
// replacement. The machine must have `code`, and constants if a step loads them.
[[nodiscard]] CodeBehaviour code_behaviour(const CodeSpec& code, Hierarchy& hierarchy,
                                           const InstructionProgram& program, std::uint64_t carve_out_bytes,
                                           std::uint64_t seed);
[[nodiscard]] InstructionResult code_result(const CodeSpec& code, const InstructionProgram& program,
                                            const CodeBehaviour& behaviour, Noise& noise);

// Runs programs, and simulates repeated ones only once: a probe repeats what noise may have disturbed.
class CodeSimulator {
 public:
  explicit CodeSimulator(const MachineSpec& spec) : spec_(spec), hierarchy_(spec) {}

  [[nodiscard]] InstructionResult run(const InstructionProgram& program, std::uint64_t carve_out_bytes,
                                      std::uint64_t seed, Noise& noise);

 private:
  static constexpr std::size_t kMostKnown = 256;

  struct Known {
    InstructionProgram program;
    std::uint64_t carve_out_bytes = 0;
    CodeBehaviour behaviour;
  };

  const MachineSpec& spec_;
  Hierarchy hierarchy_;
  std::list<Known> known_;  // most recently used first
};

}  // namespace gputopo::sim
