// Shared parts of the steps of instruction caches and constant caches.
#pragma once

#include <optional>

#include "discover/measure/context.h"

namespace gputopo {

// The nearest cache that code and constants share, which is the constant L1.5; nothing if they share none.
[[nodiscard]] std::optional<ElementId> code_cache_of_constants(Context& context);

}  // namespace gputopo
