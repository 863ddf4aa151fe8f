// The instruction sets of AMD GPUs that have kernels, and the differences between them.
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
  std::string bypass;              // cache bits of a vector load that bypasses vL1
  std::string returning;           // bit of an atomic that returns the old value
  std::string of_system;           // cache bits of an access that bypasses all caches of the GPU
  std::string atomic_of_system;    // further bits of an atomic in which the whole system may take part
  std::uint32_t engine_bits = 2;   // width of the shader engine in HW_ID
  bool has_xcc_id = false;         // several dies, numbered by a register of their own
  double memory_clock_factor = 1;  // from the driver's memory clock to a clock with two transfers
};

// The targets that have kernels, by name. Features after a colon ("gfx90a:sramecc+:xnack-") do not matter. gfx_target()
// throws NotSupportedError for others and names those that work.
[[nodiscard]] const GfxTarget& gfx_target(const std::string& name);
[[nodiscard]] const std::vector<GfxTarget>& gfx_targets();
[[nodiscard]] bool has_kernels_for(const std::string& name);

// Width of a CU's number, which is in the lowest bits of a hardware id.
inline constexpr std::uint32_t kCuBits = 4;

// The die of a CU, from the hardware id that the kernels report; 0 if the target has one die.
[[nodiscard]] std::uint32_t die_of(const GfxTarget& target, std::uint32_t hardware_id);

// The spaces that programs may use.
inline constexpr Space kHipSpaces[] = {Space::kGlobal, Space::kGlobalBypassL1, Space::kShared, Space::kScalar};
// Throws NotSupportedError for other spaces.
void check_space(Space space);

// Threads of a wavefront, which is an actor's warp. Actors name the first 32 of its lanes only.
inline constexpr std::uint32_t kWavefront = 64;

}  // namespace gputopo::hip
