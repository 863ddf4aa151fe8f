#include "gputopo/outcome.h"

#include <algorithm>
#include <cstddef>

namespace gputopo {

std::string_view to_string(Outcome outcome) {
  constexpr std::string_view kNames[] = {"good", "bad", "not_judged"};
  return kNames[static_cast<std::size_t>(outcome)];
}

Outcome outcome_of(std::span<const Verdict> verdicts) {
  const auto has = [&](Outcome outcome) { return std::ranges::count(verdicts, outcome, &Verdict::outcome) > 0; };
  if (has(Outcome::kBad)) return Outcome::kBad;
  return verdicts.empty() || has(Outcome::kNotJudged) ? Outcome::kNotJudged : Outcome::kGood;
}

}  // namespace gputopo
