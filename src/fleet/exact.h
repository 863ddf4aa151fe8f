// Finds values on which all GPUs of a group but a few agree exactly: SM counts, driver sizes, modes, link kinds.
#pragma once

#include <vector>

#include "fleet/population.h"

namespace gputopo::fleet {

struct ExactOutlier {
  std::uint32_t gpu = 0;
  OutlierValue value;
  // False (only a note) for values of a part of the chip and for inferred behavior: the measurement may be wrong.
  bool is_fault = true;
};

// True if a population's numbers are constants of the model: the driver reports them, or nearly all GPUs agree.
[[nodiscard]] bool is_constant(const Store& store, const Population& population, const JudgeParameters& parameters);

[[nodiscard]] std::vector<ExactOutlier> exact_outliers(const Store& store, const Population& population,
                                                       std::size_t gpus, const JudgeParameters& parameters);

}  // namespace gputopo::fleet
