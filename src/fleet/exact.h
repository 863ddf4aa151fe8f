// What is the same on all GPUs of a group but a few: numbers of SMs, sizes that the driver tells, modes, what a link
// is.
#pragma once

#include <vector>

#include "fleet/population.h"

namespace gputopo::fleet {

struct ExactOddity {
  std::uint32_t gpu = 0;
  OddValue value;
  // Measured of a part of the chip, or a way of working that was inferred from behaviour: measuring may have erred, and
  // it is a note.
  bool is_fault = true;
};

// Whether the numbers of a population are constants of the model: told by the driver, or nearly all the same.
[[nodiscard]] bool is_constant(const Store& store, const Population& population, const JudgeParameters& parameters);

[[nodiscard]] std::vector<ExactOddity> exact_oddities(const Store& store, const Population& population,
                                                      std::size_t gpus, const JudgeParameters& parameters);

}  // namespace gputopo::fleet
