// How far the values of each GPU of a group lie off those of the others, one by one and several together.
#pragma once

#include <cstdint>
#include <vector>

#include "fleet/population.h"

namespace gputopo::fleet {

// The ways of looking at a GPU. The chance of a false alarm is shared among them.
enum class Family : std::uint8_t { kValues, kTogether, kChanges, kChangesTogether };
inline constexpr std::size_t kFamilies = 4;
// Sums of many are nearly normal, whatever the values are.
[[nodiscard]] constexpr bool is_of_sums(Family family) {
  return family == Family::kTogether || family == Family::kChangesTogether;
}

// A value of a GPU, or those of a part of it together.
struct Score {
  std::uint32_t gpu = 0;
  std::uint32_t population = 0;            // of together: the aspect
  const StoredReading* reading = nullptr;  // of together: null
  double usual = 0;                        // what was to be expected
  double score = 0;                        // deviations of a normal distribution; of together positive is worse
  double p_value = 1;
  bool is_held = false;  // near the centre by JudgeParameters::least_relative_scale: tells nothing of how scores lie
};

// Scores of one family: those that are rare at all have their chance, the others 1.
struct Scores {
  std::vector<Score> all;
};

// By family.
[[nodiscard]] std::vector<Scores> scores_of(const Store& store, const Members& members,
                                            const std::vector<Population>& populations,
                                            const JudgeParameters& parameters);

// 1 where a positive score of such values is worse, -1 where it is better, else 0.
[[nodiscard]] int worse_sign(const ValueKind& kind);

}  // namespace gputopo::fleet
