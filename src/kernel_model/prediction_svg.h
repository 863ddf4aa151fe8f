// Draws a kernel in the roofline: a slanted ceiling for each memory level that its bytes pass, a flat ceiling for each
// arithmetic type, and a point at the kernel's intensity on each level.
#pragma once

#include <string>

#include "kernel_model/prediction.h"

namespace gputopo::kernel_model {

[[nodiscard]] std::string prediction_to_svg(const Prediction& prediction);

}  // namespace gputopo::kernel_model
