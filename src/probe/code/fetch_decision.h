// How much code is fetched at once, from what jumps take to blocks that begin at ever later places: where a block goes
// on in one more fetch the time has a step, and so it repeats with every fetch. Fooled by blocks that no cache holds:
// then it repeats with every line.
#pragma once

#include <cstddef>
#include <vector>

#include "probe/bench/decision.h"

namespace gputopo::probe {

struct FetchPeriodParameters {
  // A period is one that explains this part of the variance between the places, less what as many groups explain by
  // chance. Larger: misses fetches whose steps noise hides; smaller: takes noise for one.
  double explained = 0.75;
  // The least cycles between the quickest and the slowest place, of a pass. Less is the rounding of clocks.
  double least_range_cycles = 2;
};

// `cycles`: of passes over blocks that begin so many instructions later. The period in instructions, of two at least
// and half of the places at most.
[[nodiscard]] Decision<std::size_t> decide_fetch_period(const std::vector<double>& cycles,
                                                        const FetchPeriodParameters& parameters = {});

}  // namespace gputopo::probe
