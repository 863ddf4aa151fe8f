// The kernels that take the steps of chase programs, and those beside them that prepare arrays and wake the GPU.
#pragma once

#include <string>
#include <string_view>

namespace gputopo::hip {

// The structs Task and Step, and the kernels "chase", "fill" and "spin", which call those functions.
extern const std::string_view kChaseStructs;
[[nodiscard]] std::string chase_kernels();

}  // namespace gputopo::hip
