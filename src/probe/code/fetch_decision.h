// How much code is fetched at once, from jumps to blocks that begin at growing offsets: a block that continues in one
// more fetch takes longer, so the time repeats with every fetch; with every line if no cache holds the blocks.
#pragma once

#include <cstddef>
#include <vector>

#include "probe/bench/decision.h"

namespace gputopo::probe {

struct FetchPeriodParameters {
  // Least explained part of the variance between offsets, less what as many groups explain by chance. Larger values
  // miss fetches whose steps noise hides; smaller values take noise for a fetch.
  double explained = 0.75;
  // Least difference between the fastest and the slowest offset (cycles of a pass). Less is rounding of the clock.
  double least_range_cycles = 2;
};

// `cycles[i]`: of passes over blocks that begin i instructions later. The period in instructions: at least 2, at most
// half of the offsets.
[[nodiscard]] Decision<std::size_t> decide_fetch_period(const std::vector<double>& cycles,
                                                        const FetchPeriodParameters& parameters = {});

}  // namespace gputopo::probe
