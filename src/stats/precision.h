// The precision of distributions.
#pragma once

#include <boost/math/policies/policy.hpp>

namespace gputopo::stats {

// Computes in double, accurate to about 1e-13. By default Boost uses long double, which is several times slower.
using InDouble = boost::math::policies::policy<boost::math::policies::promote_double<false>>;

}  // namespace gputopo::stats
