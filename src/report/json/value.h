// Values as JSON: unit groups become lists of numbers, and an empty value becomes null.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <type_traits>
#include <variant>

#include "gputopo/model.h"

namespace gputopo::report {

[[nodiscard]] inline nlohmann::ordered_json value_json(const Value& value) {
  return std::visit(
      [](const auto& held) -> nlohmann::ordered_json {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, std::monostate>) {
          return nullptr;
        } else if constexpr (std::is_same_v<Held, UnitGroups>) {
          return held.groups;
        } else {
          return held;
        }
      },
      value);
}

// A bound of an interval; null if absent or not finite.
[[nodiscard]] inline nlohmann::ordered_json bound_json(const std::optional<double>& bound) {
  return bound.has_value() && std::isfinite(*bound) ? nlohmann::ordered_json(*bound) : nlohmann::ordered_json(nullptr);
}

}  // namespace gputopo::report
