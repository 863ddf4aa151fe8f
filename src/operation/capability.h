// The operations that a compute capability has.
#pragma once

#include <optional>
#include <string>

#include "gputopo/operation.h"

namespace gputopo {

// `sm`: 10 * major + minor.
[[nodiscard]] constexpr bool has_tensor_memory(int sm) { return sm == 100 || sm == 103 || sm == 110; }
// Explains why no GPU of this compute capability has the operation; "" if some have it. The catalogue does not cover
// capabilities before 3.5, which no driver supports any more, so they count as 3.5.
[[nodiscard]] std::string refusal_by_capability(int sm, const OperationInfo& operation);
// The same for a GPU that may not report its capability; "" if it does not.
[[nodiscard]] std::string refusal_by_capability(std::optional<int> major, std::optional<int> minor,
                                                const OperationInfo& operation);

}  // namespace gputopo
