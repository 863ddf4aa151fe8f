// The steps of chase programs. chase_source.h says what the timing depends on.
#pragma once

#include <cstdint>
#include <string>

#include "device/hip/gfx_target.h"
#include "gputopo/program/unrolled_loads.h"

namespace gputopo::hip {

// Consecutive loads in the loop of an untimed step.
inline constexpr auto kUnroll = static_cast<std::uint32_t>(kUnrolledLoads);

// The functions "<kind>_step_<space>" for every kind of step in every space that has it, and "store_step". They take a
// Task and a Step.
[[nodiscard]] std::string step_functions(const GfxTarget& target);

}  // namespace gputopo::hip
