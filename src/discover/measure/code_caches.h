// What the steps of caches of code and of constants need of one another.
#pragma once

#include <optional>

#include "discover/measure/context.h"

namespace gputopo {

// The nearest cache where code meets constants, which is the constant L1.5; nothing where they do not meet.
[[nodiscard]] std::optional<ElementId> code_cache_of_constants(Context& context);

}  // namespace gputopo
