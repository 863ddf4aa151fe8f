// Which operations a compute capability has at all.
#pragma once

#include <optional>
#include <string>

#include "gputopo/operation.h"

namespace gputopo {

// `sm`: 10 * major + minor.
[[nodiscard]] constexpr bool has_tensor_memory(int sm) { return sm == 100 || sm == 103 || sm == 110; }
// Why GPUs of this compute capability have it not; "" where some have. Of those before 3.5, which no driver knows any
// more, the catalogue says nothing.
[[nodiscard]] std::string refusal_by_capability(int sm, const OperationInfo& operation);
// The same of a GPU's; "" where it tells of none.
[[nodiscard]] std::string refusal_by_capability(std::optional<int> major, std::optional<int> minor,
                                                const OperationInfo& operation);

}  // namespace gputopo
