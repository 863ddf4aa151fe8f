// How exactly distributions are worked out.
#pragma once

#include <boost/math/policies/policy.hpp>

namespace gputopo::stats {

// In double, to 1e-13 or so. As it comes, Boost takes long double, which is a multiple slower.
using InDouble = boost::math::policies::policy<boost::math::policies::promote_double<false>>;

}  // namespace gputopo::stats
