// Finds GPUs whose runs lack values that most GPUs of their model have.
#pragma once

#include <vector>

#include "fleet/population.h"

namespace gputopo::fleet {

// GPUs that are not judged because their report is incomplete, or because it lacks many values or a bandwidth of the
// memory or the L2.
[[nodiscard]] std::vector<PartOfGpu> incomplete_gpus(const Store& store, const Members& members,
                                                     const std::vector<Population>& populations,
                                                     const JudgeParameters& parameters);

}  // namespace gputopo::fleet
