// Scores how far each GPU's values deviate from those of its group, individually and several together.
#pragma once

#include <cstdint>
#include <vector>

#include "fleet/population.h"

namespace gputopo::fleet {

// The tests of a GPU. They share the false alarm rate.
enum class Family : std::uint8_t { kValues, kTogether, kChanges, kChangesTogether };
inline constexpr std::size_t kFamilies = 4;
// Sums of many values are nearly normal, whatever the distribution of each value.
[[nodiscard]] constexpr bool is_of_sums(Family family) {
  return family == Family::kTogether || family == Family::kChangesTogether;
}

// Score of one value of a GPU, or of all values of one part together.
struct Score {
  std::uint32_t gpu = 0;
  std::uint32_t population = 0;            // for sums: the aspect
  const StoredReading* reading = nullptr;  // null for sums
  double usual = 0;                        // expected value
  double score = 0;                        // deviations of a normal distribution; for sums, positive is worse
  double p_value = 1;
  bool is_held = false;  // least_relative_scale set the scale: no evidence of how scores are distributed
};

// Scores of one family. Only large scores get their p-value; all others have 1.
struct Scores {
  std::vector<Score> all;
};

// Indexed by family.
[[nodiscard]] std::vector<Scores> scores_of(const Store& store, const Members& members,
                                            const std::vector<Population>& populations,
                                            const JudgeParameters& parameters);

// False for constants and for values of the host.
[[nodiscard]] bool is_compared_by_spread(const Store& store, const Population& population,
                                         const JudgeParameters& parameters);

// Returns the standard deviation of a reading's own error, relative to its value, from its 95% interval; 0: unknown.
[[nodiscard]] double logarithmic_error(const StoredReading& reading);

// Returns 1 if a positive score of such values is worse, -1 if it is better, otherwise 0.
[[nodiscard]] int worse_sign(const ValueKind& kind);

}  // namespace gputopo::fleet
