// A prediction as text for people.
#pragma once

#include <string>

#include "kernel_model/prediction.h"

namespace gputopo::kernel_model {

[[nodiscard]] std::string prediction_to_text(const Prediction& prediction);

// "990.7 us"; "bound by bandwidth of device, 1.395x the next bound: bandwidth of l2".
[[nodiscard]] std::string time_text(double seconds);
[[nodiscard]] std::string bound_text(const Prediction& prediction);

}  // namespace gputopo::kernel_model
