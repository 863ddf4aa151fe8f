// A value as JSON: groups of units are lists of numbers, what is nothing is null.
#pragma once

#include <nlohmann/json.hpp>
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

}  // namespace gputopo::report
