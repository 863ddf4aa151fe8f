// The parts of the source that runs chase programs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "device/hip/kernel_source.h"
#include "gputopo/program/unrolled_loads.h"

namespace gputopo::hip {

// Loads in a row of an untimed step.
inline constexpr auto kUnroll = static_cast<std::uint32_t>(kUnrolledLoads);

// The functions "<kind>_step_<space>" for every kind of step in every space that has it, and "store_step". They take a
// Task and a Step.
[[nodiscard]] std::string step_functions(const GfxTarget& target);

// The structs Task and Step, and the kernels "chase", "fill" and "spin", which call those functions.
extern const std::string_view kChaseStructs;
[[nodiscard]] std::string chase_kernels();

}  // namespace gputopo::hip
