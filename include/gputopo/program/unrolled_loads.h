// The loop of an untimed chain (StepKind::kWarm).
#pragma once

#include <cstdint>

namespace gputopo {

// Each pass of the loop follows this many links; the remainder of a step's loads comes first, one link per pass. This
// is the same on every device, so that steps of different lengths show the cost of a pass.
inline constexpr std::uint64_t kUnrolledLoads = 16;

[[nodiscard]] constexpr std::uint64_t passes_of(std::uint64_t loads) {
  return loads / kUnrolledLoads + loads % kUnrolledLoads;
}

}  // namespace gputopo
