// Finds deviations so large that they are faults whatever the distribution of a value. A small group does not show how
// far its values spread, and of heavy tails no group does, so no test of rarity alone (score.h) finds them there.
#pragma once

#include <optional>
#include <vector>

#include "fleet/population.h"
#include "fleet/score.h"

namespace gputopo::fleet {

// A value by which the GPUs of a small group form two halves: one of them is faulty, but nothing tells which.
struct Split {
  std::uint32_t population = 0;
  std::vector<std::uint32_t> gpus;  // all of the group that have the value
  double low = 0;                   // median of the half with the smaller values, and of the other
  double high = 0;
};

struct LargeDeviation {
  Score score;                 // `score`: distance from the others in their spreads, positive if higher
  std::optional<Aspect> part;  // set if several values of one part decide together
};

[[nodiscard]] std::vector<LargeDeviation> large_deviations(const Store& store, const Members& members,
                                                           const std::vector<Population>& populations,
                                                           const JudgeParameters& parameters);

[[nodiscard]] std::vector<Split> splits_of(const Members& members, const std::vector<Population>& populations);

}  // namespace gputopo::fleet
