#include "operation/capability.h"

#include <fmt/format.h>

#include <algorithm>

namespace gputopo {

std::string refusal_by_capability(int sm, const OperationInfo& operation) {
  constexpr int kFirstSm = 35;
  if (operation.first_sm > std::max(sm, kFirstSm)) {
    return fmt::format("needs compute capability {}.{} and a driver that supports it", operation.first_sm / 10,
                       operation.first_sm % 10);
  }
  if (operation.type == OperandType::kTensorMemory && !has_tensor_memory(sm)) {
    return "works only with compute capability 10.0, 10.3 or 11.0";
  }
  return {};
}

std::string refusal_by_capability(std::optional<int> major, std::optional<int> minor, const OperationInfo& operation) {
  return major && minor ? refusal_by_capability(10 * *major + *minor, operation) : std::string();
}

}  // namespace gputopo
