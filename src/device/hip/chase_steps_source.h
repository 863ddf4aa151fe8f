// The steps of chase programs. What the timing depends on stands in chase_source.h.
#pragma once

#include <cstdint>
#include <string>

#include "device/hip/gfx_target.h"
#include "gputopo/program/unrolled_loads.h"

namespace gputopo::hip {

// Loads in a row of an untimed step.
inline constexpr auto kUnroll = static_cast<std::uint32_t>(kUnrolledLoads);

// The functions "<kind>_step_<space>" for every kind of step in every space that has it, and "store_step". They take a
// Task and a Step.
[[nodiscard]] std::string step_functions(const GfxTarget& target);

}  // namespace gputopo::hip
