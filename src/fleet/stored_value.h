// A value as in a row of a store. Intervals take few bytes there, because a store has hundreds of millions of them.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "fleet/sqlite.h"

namespace gputopo::fleet {

// A bound of an interval: millionths of the value outward from it, or the bound itself if that is more precise.
using StoredBound = std::variant<std::int64_t, double>;  // NaN: none

enum class Side : std::int8_t { kLow = -1, kHigh = 1 };

// Rounds outward.
[[nodiscard]] StoredBound to_stored(double bound, double value, Side side);
[[nodiscard]] double from_stored(const StoredBound& bound, double value, Side side);

struct StoredValue {
  double value = 0;  // NaN: none
  StoredBound low;
  StoredBound high;
  std::optional<std::int64_t> text;  // ids of texts
  std::optional<std::int64_t> reason;
};

// Also true if both lack the same.
[[nodiscard]] bool is_same(const StoredValue& one, const StoredValue& other);
// Reads the columns value, low, high, text and reason, of which `column` is the first.
[[nodiscard]] StoredValue value_in(const sqlite::Statement& row, int column);

}  // namespace gputopo::fleet
