// The loop of an untimed chain (StepKind::kWarm).
#pragma once

#include <cstdint>

namespace gputopo {

// Each pass of the loop follows so many links; what is left over of a step's loads is followed first, one link a pass.
// The same on every device, so that steps of different lengths tell what a pass costs beyond its loads.
inline constexpr std::uint64_t kUnrolledLoads = 16;

[[nodiscard]] constexpr std::uint64_t passes_of(std::uint64_t loads) {
  return loads / kUnrolledLoads + loads % kUnrolledLoads;
}

}  // namespace gputopo
