// Checks of single fields. Each error names the field as the machine file spells it.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <utility>

#include "device/sim/machine/machine.h"
#include "file/limits.h"
#include "file/shown.h"
#include "gputopo/error.h"

namespace gputopo::sim {

inline constexpr double kMaxOverheadCycles = 1000;

template <typename... Args>
void require(bool condition, const std::string& field, fmt::format_string<Args...> rule, Args&&... args) {
  if (!condition) throw FormatError(field + ": " + fmt::format(rule, std::forward<Args>(args)...));
}

inline void require_power_of_two(std::uint64_t value, const std::string& field, std::uint64_t low, std::uint64_t high) {
  require(std::has_single_bit(value), field, "{} is not a power of two", value);
  require(value >= low && value <= high, field, "{} is not between {} and {}", value, low, high);
}

// The names of rates say so; all other fields are cycles, or far smaller.
inline void require_no_more_than_any(double value, const std::string& field) {
  const double most = field.ends_with("bytes_per_second") || field.ends_with("bytes_in_flight")
                          ? limits::kMaxBytesPerSecond
                          : limits::kMaxCycles;
  require(value <= most, field, "{} is more than {}", value, most);
}

inline void require_not_negative(double value, const std::string& field) {
  require(std::isfinite(value) && value >= 0, field, "{} is negative or not finite", value);
  require_no_more_than_any(value, field);
}

inline void require_positive(double value, const std::string& field) {
  require(std::isfinite(value) && value > 0, field, "{} is not greater than 0", value);
  require_no_more_than_any(value, field);
}

// Cycles of measurement overhead. An overhead as long as a memory access would hide every cache.
inline void require_overhead(double value, const std::string& field) {
  require(value >= 0 && value <= kMaxOverheadCycles, field, "{} is not between 0 and {}", value, kMaxOverheadCycles);
}

inline void require_fraction(double value, const std::string& field) {
  require(value >= 0 && value <= 1, field, "{} is not between 0 and 1", value);
}

// Messages and reports repeat these names.
inline void require_short(const std::string& name, const std::string& field) {
  require(name.size() <= limits::kMaxShown, field, "'{}' is longer than {} bytes", shown(name), limits::kMaxShown);
}

inline const CacheSpec& require_cache(const MachineSpec& spec, const std::string& id, const std::string& field) {
  const auto found =
      std::find_if(spec.caches.begin(), spec.caches.end(), [&](const CacheSpec& cache) { return cache.id == id; });
  require(found != spec.caches.end(), field, "'{}' is not the id of a cache", shown(id));
  return *found;
}

}  // namespace gputopo::sim
