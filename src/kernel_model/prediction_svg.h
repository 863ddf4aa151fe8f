// A kernel's point in the roofline: a slanted ceiling for each level that its bytes pass, a flat one for each type of
// arithmetic, and the kernel at its intensity on each level.
#pragma once

#include <string>

#include "kernel_model/prediction.h"

namespace gputopo::kernel_model {

// The roofline of the report with the kernel's point on each level that its bytes pass.
[[nodiscard]] std::string prediction_to_svg(const Prediction& prediction);

}  // namespace gputopo::kernel_model
