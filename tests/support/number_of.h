#pragma once

#include <cmath>
#include <string_view>

#include "gputopo/model.h"

namespace gputopo::truth {

// A numeric detail of an attribute; NAN if there is none.
inline double number_of(const Attribute& attribute, std::string_view name) {
  const Value* value = attribute.find_detail(name);
  if (value == nullptr) return NAN;
  if (const auto* whole = std::get_if<std::int64_t>(value)) return static_cast<double>(*whole);
  const auto* real = std::get_if<double>(value);
  return real == nullptr ? NAN : *real;
}

}  // namespace gputopo::truth
