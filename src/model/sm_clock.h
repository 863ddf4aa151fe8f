// The clock that a value was measured at.
#pragma once

#include <optional>

#include "gputopo/model.h"

namespace gputopo {

// MHz, of the value's conditions; nothing where they do not tell.
[[nodiscard]] std::optional<double> sm_clock_mhz(const Attribute& attribute);

}  // namespace gputopo
