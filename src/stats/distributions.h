// Probabilities of the tails of distributions, in double: to 1e-13 or so.
#pragma once

#include <cstdint>

namespace gputopo::stats {

// That a binomial variable of so many trials, each a success with `chance` in [0, 1], is more than `successes`.
[[nodiscard]] double chance_of_more_successes(std::uint64_t successes, std::uint64_t trials, double chance);
// That a chi-squared variable of so many degrees of freedom (more than 0) is larger than `value`, 0 or more.
[[nodiscard]] double chance_of_larger_chi_squared(double value, double degrees_of_freedom);

}  // namespace gputopo::stats
