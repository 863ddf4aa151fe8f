// The kernels that run the steps of chase programs, prepare their arrays and wake the GPU.
#pragma once

#include <string>
#include <string_view>

namespace gputopo::hip {

// The structs Task and Step, and the kernels "chase", "fill" and "spin", which call the functions of step_functions().
extern const std::string_view kChaseStructs;
[[nodiscard]] std::string chase_kernels();

}  // namespace gputopo::hip
