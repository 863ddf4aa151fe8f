// Judges all values of one part of a GPU as one: a slow memory stack, for example, moves five values a little.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "fleet/judgement.h"
#include "fleet/population.h"
#include "fleet/score.h"
#include "fleet/value_kind.h"

namespace gputopo::fleet {

// Scores whose worse direction is known.
struct SignedScores {
  struct Column {
    ValueKind kind;
    std::vector<double> of_gpu;  // deviations, positive if worse; mean of several links; NaN if missing
  };
  std::size_t gpus = 0;
  std::vector<Column> columns;
};

// Limits each score to JudgeParameters::most_of_one.
[[nodiscard]] SignedScores signed_scores_of(const std::vector<Score>& scores,
                                            const std::vector<Population>& populations, std::size_t gpus,
                                            const JudgeParameters& parameters);

// Score of one GPU, on an arbitrary scale.
struct JointScore {
  std::uint32_t gpu = 0;
  double score = 0;  // positive if worse
};

// Sums a part's values with the weights that best reveal a common shift of all of them. Values that correlate with many
// others weigh less, and the shift that the rest of the chip predicts is subtracted. The fleet itself provides the
// correlations. Empty if too few values belong to the part.
[[nodiscard]] std::vector<JointScore> score_jointly(const SignedScores& scores, Aspect aspect,
                                                    const JudgeParameters& parameters);

}  // namespace gputopo::fleet
