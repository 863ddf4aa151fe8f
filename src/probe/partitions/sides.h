// The sides of L2: which SMs are near the same partition. One SM stores to lines and loads them, then another loads
// each of them twice. What the first SM has near, those of its side have near too; an SM of another side finds it far
// at its first load, and near at the second, because what it reads is kept in its own partition. What fools it:
// translations, which only the first load waits for, so the page is loaded from before; a disturbance, which comes to a
// few loads.
#pragma once

#include <cstdint>
#include <vector>

#include "probe/survey/site.h"

namespace gputopo::probe {

struct Sides {
  std::vector<std::vector<std::uint32_t>> sms;  // of each side, ascending, by their first
  double first_load_cycles = 0;                 // more than the second, on another side, on average over the lines
  std::vector<stats::Histogram> far_pairs;      // how much more, of each SM that found lines far
  Conditions conditions;

  // Which of them the SM is on; 0 for one that was not asked.
  [[nodiscard]] std::size_t side_of(std::uint32_t sm) const;
};

// Throws Inconclusive; NotSupportedError where programs cannot name SMs, or there is one SM.
[[nodiscard]] Sides find_sides(Lab& lab, const Cache& l2);

}  // namespace gputopo::probe
