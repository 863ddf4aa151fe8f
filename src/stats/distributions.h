// Tail probabilities of distributions, in double precision: accurate to about 1e-13.
#pragma once

#include <cstdint>

namespace gputopo::stats {

// The probability of more than `successes` in so many trials, each a success with probability `chance` in [0, 1].
[[nodiscard]] double binomial_upper_tail(std::uint64_t successes, std::uint64_t trials, double chance);
// The probability that a chi-squared variable with so many degrees of freedom (> 0) is larger than `value` (>= 0).
[[nodiscard]] double chi_squared_upper_tail(double value, double degrees_of_freedom);

}  // namespace gputopo::stats
