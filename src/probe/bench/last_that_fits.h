// Bisection for a capacity limit.
#pragma once

#include <concepts>
#include <cstdint>

namespace gputopo::probe {

// The last number in [fits, exceeding) that does not exceed. Assumes that all numbers after it do.
template <std::predicate<std::uint32_t> Exceeds>
[[nodiscard]] std::uint32_t last_that_fits(std::uint32_t fits, std::uint32_t exceeding, Exceeds&& exceeds) {
  while (fits + 1 < exceeding) {
    const std::uint32_t middle = (fits + exceeding) / 2;
    (exceeds(middle) ? exceeding : fits) = middle;
  }
  return fits;
}

}  // namespace gputopo::probe
