#include "stats/distributions.h"

#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/chi_squared.hpp>

#include "stats/precision.h"

namespace gputopo::stats {

double binomial_upper_tail(std::uint64_t successes, std::uint64_t trials, double chance) {
  const boost::math::binomial_distribution<double, InDouble> distribution(static_cast<double>(trials), chance);
  return cdf(complement(distribution, static_cast<double>(successes)));
}

double chi_squared_upper_tail(double value, double degrees_of_freedom) {
  const boost::math::chi_squared_distribution<double, InDouble> distribution(degrees_of_freedom);
  return cdf(complement(distribution, value));
}

}  // namespace gputopo::stats
