// A prediction as JSON. docs/model.md lists the fields.
#pragma once

#include <string>

#include "kernel_model/prediction.h"

namespace gputopo::kernel_model {

[[nodiscard]] std::string prediction_to_json(const Prediction& prediction);

}  // namespace gputopo::kernel_model
