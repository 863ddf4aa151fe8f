#include "probe/structure/conflicts.h"

#include <fmt/format.h>

#include <algorithm>

namespace gputopo::probe {
namespace {

struct GlanceParameters {
  // Standard errors above zero at which misses are too many. Larger values look twice less often, but overlook more.
  double errors = 5;
};

// Walks lines; the misses per pass tell whether they fit.
class WalkedLines : public LineTrials {
 public:
  explicit WalkedLines(FitTest& test) : test_(test) {}

  std::vector<bool> fit(const std::vector<LineGroup>& groups) override { return test_.fit(groups); }

  // Uses one copy of each. In thousands of lines noise hides one miss too many, but then many sets overflow.
  std::vector<bool> seem_too_many(const std::vector<LineGroup>& groups) override {
    const std::vector<double> misses = test_.misses_per_pass(groups, {}, 1);
    std::vector<bool> too_many;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const double error = test_.error(static_cast<double>(groups[i].size()));
      too_many.push_back(misses[i] >= std::max(FitTest::kDecision, parameters_.errors * error));
    }
    return too_many;
  }

 private:
  FitTest& test_;
  GlanceParameters parameters_;
};

}  // namespace

std::optional<LineGroup> minimal_conflict(ProbeRunner& runner, FitTest& test, std::size_t lines, std::size_t at_once,
                                          std::uint64_t seed) {
  test.sharpen(static_cast<double>(lines));
  WalkedLines trials(test);
  FoundConflict found = search_conflict(trials, lines, at_once, seed);
  if (found.outcome == FoundConflict::Outcome::kHidden) {
    throw Inconclusive(
        fmt::format("the misses that one excess line causes among {} lines cannot be distinguished from noise",
                    found.lines.size()));
  }
  runner.log(fmt::format("structure: {} lines conflict", found.lines.size()));
  if (found.outcome == FoundConflict::Outcome::kFits) return std::nullopt;
  return std::move(found.lines);
}

LineGroup conflicting_with(FitTest& test, const LineGroup& lines, std::uint32_t last, std::size_t least) {
  WalkedLines trials(test);
  return search_conflicting_with(trials, lines, last, least);
}

}  // namespace gputopo::probe
