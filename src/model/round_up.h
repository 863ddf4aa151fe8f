// Rounding up to whole units.
#pragma once

#include <cstdint>

namespace gputopo {

// The smallest multiple of `unit` (not 0) that is at least `value`.
[[nodiscard]] constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace gputopo
