#include "probe/conflicts.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

namespace gputopo::probe {
namespace {

// Finds one conflict set, by leaving out lines.
class ConflictSearch {
 public:
  // `at_once`: candidates that take no longer than one.
  ConflictSearch(Lab& lab, FitTest& test, std::size_t at_once, std::uint64_t seed)
      : lab_(lab), test_(test), at_once_(std::min(at_once, kAtOnce)), random_(seed) {}

  // Nothing where what seemed too much fits after all: noise.
  std::optional<LineGroup> run(std::size_t lines) {
    LineGroup group(lines);
    std::iota(group.begin(), group.end(), 0u);
    test_.sharpen(static_cast<double>(lines));
    double part = 0.5;  // to leave out at once
    constexpr std::size_t kRounds = 2000;
    for (std::size_t round = 0; round < kRounds; ++round) {
      const auto drop = static_cast<std::size_t>(part * static_cast<double>(group.size()));
      if (drop < 2) break;
      bool found = false;
      for (std::size_t tried = 0; tried < kCandidates && !found; tried += at_once_) {
        std::vector<LineGroup> candidates;
        for (std::size_t i = 0; i < at_once_; ++i) candidates.push_back(without(group, drop));
        const std::optional<std::size_t> first = first_that_does_not_fit(candidates);
        if (first) group = candidates[*first];
        found = first.has_value();
      }
      part = found ? std::min(0.5, 1.5 * part) : part / 2;
    }
    return leave_out_single_lines(std::move(group));
  }

 private:
  static constexpr std::size_t kCandidates = 9;
  static constexpr std::size_t kAtOnce = 3;  // of which one will do, as a rule

  LineGroup without(const LineGroup& group, std::size_t count) {
    LineGroup rest = group;
    std::shuffle(rest.begin(), rest.end(), random_);
    rest.resize(rest.size() - count);
    return rest;
  }

  // One copy of each, and a second look at what seems not to fit.
  std::optional<std::size_t> first_that_does_not_fit(const std::vector<LineGroup>& groups) {
    const std::vector<double> misses = test_.misses_per_pass(groups, {}, 1);
    constexpr std::size_t kLooks = 2;
    std::size_t looks = 0;
    for (std::size_t i = 0; i < groups.size() && looks < kLooks; ++i) {
      // Of thousands of lines a miss too many is not told from noise, but then many sets overflow.
      constexpr double kErrors = 5;
      if (misses[i] < std::max(FitTest::kDecision, kErrors * test_.error(static_cast<double>(groups[i].size()))))
        continue;
      ++looks;
      if (!test_.fit({groups[i]}).front()) return i;
    }
    return std::nullopt;
  }

  std::optional<LineGroup> leave_out_single_lines(LineGroup group) {
    // At once: all of a set of any cache known, and a sample of what only a fully associative one can have.
    constexpr std::size_t kWhole = 200;
    // Of thousands of lines a few too many are gone soon; where it goes on, noise takes those for spare that are not.
    constexpr int kMostRounds = 12;
    int rounds = 0;
    while (group.size() > 2) {
      if (group.size() > kWhole && ++rounds > kMostRounds) {
        throw Inconclusive(fmt::format("of {} lines one too many is not told from noise", group.size()));
      }
      const std::size_t singles = group.size() <= kWhole ? kWhole : kWhole / 8;
      std::vector<std::size_t> places(group.size());
      std::iota(places.begin(), places.end(), std::size_t{0});
      std::shuffle(places.begin(), places.end(), random_);
      places.resize(std::min(places.size(), singles));
      std::vector<LineGroup> candidates;
      for (const std::size_t place : places) {
        candidates.push_back(group);
        candidates.back().erase(candidates.back().begin() + static_cast<std::ptrdiff_t>(place));
      }
      const std::vector<bool> fits = test_.fit(candidates);
      std::vector<std::uint32_t> spare;
      for (std::size_t i = 0; i < places.size(); ++i) {
        if (!fits[i]) spare.push_back(group[places[i]]);
      }
      if (spare.empty()) break;
      // Each can be spared; all of them together perhaps not.
      spare.resize(std::min(spare.size(), group.size() - 2));
      bool left_out = false;
      for (; !left_out && !spare.empty(); spare.resize(spare.size() == 1 ? 0 : (spare.size() + 1) / 2)) {
        LineGroup rest;
        std::copy_if(group.begin(), group.end(), std::back_inserter(rest),
                     [&](std::uint32_t line) { return std::find(spare.begin(), spare.end(), line) == spare.end(); });
        left_out = !test_.fit({rest}).front();
        if (left_out) group = std::move(rest);
      }
      if (!left_out) break;
    }
    std::sort(group.begin(), group.end());
    lab_.log(fmt::format("structure: {} lines conflict", group.size()));
    if (group.size() < 2 || test_.fit({group}).front()) return std::nullopt;
    return group;
  }

  Lab& lab_;
  FitTest& test_;
  std::size_t at_once_;
  std::mt19937_64 random_;
};

}  // namespace

std::optional<LineGroup> minimal_conflict(Lab& lab, FitTest& test, std::size_t lines, std::size_t at_once,
                                          std::uint64_t seed) {
  return ConflictSearch(lab, test, at_once, seed).run(lines);
}

LineGroup conflicting_with(FitTest& test, const LineGroup& lines, std::uint32_t last, std::size_t least) {
  using Lines = std::set<std::uint32_t>;
  const auto without = [&](const Lines& gone) {
    LineGroup rest;
    std::copy_if(lines.begin(), lines.end(), std::back_inserter(rest),
                 [&](std::uint32_t line) { return !gone.contains(line); });
    return rest;
  };
  const auto fit_without = [&](const std::vector<LineGroup>& left_out) {
    std::vector<LineGroup> groups;
    for (const LineGroup& out : left_out) groups.emplace_back(without(Lines(out.begin(), out.end()))).push_back(last);
    return test.fit(groups);
  };
  constexpr std::size_t kPieces = 16;  // to begin with: about the ways of a cache
  constexpr int kLooks = 3;            // at those that seem not to matter, as long as that finds another
  const std::size_t room = lines.size() > least ? lines.size() - least : 1;
  Lines found;
  for (int look = 0; look < kLooks; ++look) {
    const LineGroup others = without(found);
    const std::size_t length = std::clamp<std::size_t>(others.size() / kPieces, 1, room);
    std::vector<LineGroup> pieces;
    for (std::size_t begin = 0; begin < others.size(); begin += length) {
      pieces.emplace_back(others.begin() + static_cast<std::ptrdiff_t>(begin),
                          others.begin() + static_cast<std::ptrdiff_t>(std::min(begin + length, others.size())));
    }
    const std::size_t before = found.size();
    while (!pieces.empty()) {
      const std::vector<bool> fits = fit_without(pieces);
      std::vector<LineGroup> halves;
      for (std::size_t i = 0; i < pieces.size(); ++i) {
        if (!fits[i]) continue;
        if (pieces[i].size() == 1) {
          found.insert(pieces[i].front());
        } else {
          const auto middle = pieces[i].begin() + static_cast<std::ptrdiff_t>(pieces[i].size() / 2);
          halves.emplace_back(pieces[i].begin(), middle);
          halves.emplace_back(middle, pieces[i].end());
        }
      }
      pieces = std::move(halves);
    }
    if (found.size() == before) break;
  }
  const LineGroup others = without(found);
  return without(Lines(others.begin(), others.end()));
}

}  // namespace gputopo::probe
