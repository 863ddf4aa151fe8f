// The instruction sets of AMD GPUs that the kernels are written for, and what differs between them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gputopo/space.h"

namespace gputopo::hip {

// An instruction set, with the differences that the kernels must know.
struct GfxTarget {
  std::string name;                // "gfx90a"
  std::string architecture;        // "CDNA2"
  std::string bypass;              // cache bits of a vector load that vL1 does not answer
  std::string returning;           // bit of an atomic that gives back what was there
  std::string of_system;           // cache bits of an access that no cache of the GPU answers
  std::string atomic_of_system;    // what an atomic has besides, where all of the system may take part
  std::uint32_t engine_bits = 2;   // of the shader engine in HW_ID
  bool has_xcc_id = false;         // several dies, numbered by a register of their own
  double memory_clock_factor = 1;  // from what the driver calls the memory clock to two transfers a clock
};

// The targets that the kernels are written for, by name; features after a colon ("gfx90a:sramecc+:xnack-") do not
// matter. Throws NotSupportedError for any other, naming those that work.
[[nodiscard]] const GfxTarget& gfx_target(const std::string& name);
[[nodiscard]] const std::vector<GfxTarget>& gfx_targets();
[[nodiscard]] bool has_kernels_for(const std::string& name);

// The width of a CU's number, which is in the lowest bits of a hardware id.
inline constexpr std::uint32_t kCuBits = 4;

// The die of a CU, of the id that the kernels have for it; 0 where the target has one die.
[[nodiscard]] std::uint32_t die_of(const GfxTarget& target, std::uint32_t hardware_id);

// The spaces that programs may use.
inline constexpr Space kHipSpaces[] = {Space::kGlobal, Space::kGlobalBypassL1, Space::kShared, Space::kScalar};
// Throws NotSupportedError for any other.
void check_space(Space space);

// Threads of a wavefront, which an actor's warp is; actors name the first 32 of its lanes only.
inline constexpr std::uint32_t kWavefront = 64;

}  // namespace gputopo::hip
