// The clock at which a value was measured.
#pragma once

#include <optional>

#include "gputopo/model.h"

namespace gputopo {

// In MHz, from the value's conditions; empty if they lack it.
[[nodiscard]] std::optional<double> sm_clock_mhz(const Attribute& attribute);

}  // namespace gputopo
