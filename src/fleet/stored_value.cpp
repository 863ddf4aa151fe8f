#include "fleet/stored_value.h"

#include <cmath>

namespace gputopo::fleet {
namespace {

constexpr double kStep = 1e-6;

bool is_same(double one, double other) { return one == other || (std::isnan(one) && std::isnan(other)); }

bool is_same(const StoredBound& one, const StoredBound& other) {
  if (one.index() != other.index()) return false;
  const auto* steps = std::get_if<std::int64_t>(&one);
  return steps != nullptr ? *steps == std::get<std::int64_t>(other)
                          : is_same(std::get<double>(one), std::get<double>(other));
}

StoredBound bound_in(const sqlite::Statement& row, int column) {
  if (row.is_integer(column)) return row.integer(column);
  return row.real(column);
}

}  // namespace

StoredBound to_stored(double bound, double value, Side side) {
  if (!std::isfinite(bound) || !std::isfinite(value)) return std::nan("");
  const double sign = static_cast<double>(side);
  // Larger distances are rare, and smaller ones would lose their precision.
  constexpr double kLeast = 20;
  constexpr double kMost = 1e7;
  const double steps = std::ceil(sign * (bound - value) / std::abs(value) / kStep);
  if (bound == value) return std::int64_t{0};
  if (!(steps >= kLeast && steps <= kMost)) return bound;
  const auto whole = static_cast<std::int64_t>(steps);
  // The division may have rounded inward.
  const double stored = from_stored(whole, value, side);
  return sign * (stored - bound) >= 0 ? whole : whole + 1;
}

double from_stored(const StoredBound& bound, double value, Side side) {
  const auto* steps = std::get_if<std::int64_t>(&bound);
  if (steps == nullptr) return std::get<double>(bound);
  return value + static_cast<double>(side) * (std::abs(value) * static_cast<double>(*steps) * kStep);
}

bool is_same(const StoredValue& one, const StoredValue& other) {
  return is_same(one.value, other.value) && is_same(one.low, other.low) && is_same(one.high, other.high) &&
         one.text == other.text && one.reason == other.reason;
}

StoredValue value_in(const sqlite::Statement& row, int column) {
  StoredValue value{.value = row.real(column), .low = bound_in(row, column + 1), .high = bound_in(row, column + 2)};
  if (!row.is_null(column + 3)) value.text = row.integer(column + 3);
  if (!row.is_null(column + 4)) value.reason = row.integer(column + 4);
  return value;
}

}  // namespace gputopo::fleet
