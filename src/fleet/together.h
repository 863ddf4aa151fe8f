// Values of one part of a GPU judged as one: a slow stack of memory moves five values a little.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fleet/judgement.h"
#include "fleet/population.h"
#include "fleet/score.h"
#include "fleet/value_kind.h"

namespace gputopo::fleet {

// Scores of which it is known which way is worse.
struct SignedScores {
  struct Column {
    ValueKind kind;
    std::vector<double> of_gpu;  // deviations, positive is worse; of several links their mean; NaN: it has none
  };
  std::size_t gpus = 0;
  std::vector<Column> columns;
};

// No score counts for more than JudgeParameters::most_of_one.
[[nodiscard]] SignedScores signed_scores_of(const std::vector<Score>& scores,
                                            const std::vector<Population>& populations, std::size_t gpus,
                                            const JudgeParameters& parameters);

// Of one GPU; the scale is that of no distribution.
struct WholeScore {
  std::uint32_t gpu = 0;
  double score = 0;  // positive is worse
};

// The sum of a part's values that shows best what moves all of them by as many deviations: those that go together
// with many others weigh less, and what the rest of the chip lets one expect is taken off. The fleet itself tells how
// values go together. Empty: too few values belong to the part.
[[nodiscard]] std::vector<WholeScore> judge_together(const SignedScores& scores, Aspect aspect,
                                                     const JudgeParameters& parameters);

}  // namespace gputopo::fleet
