#include "probe/structure/conflict_search.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

namespace gputopo::probe {
namespace {

class ConflictSearch {
 public:
  ConflictSearch(LineTrials& trials, std::size_t at_once, std::uint64_t seed,
                 const ConflictSearchParameters& parameters)
      : trials_(trials), parameters_(parameters), at_once_(std::min(at_once, parameters.at_once)), random_(seed) {}

  FoundConflict run(std::size_t lines) {
    LineGroup group(lines);
    std::iota(group.begin(), group.end(), 0u);
    leave_out_parts(group);
    const bool ended = leave_out_single_lines(group);
    std::ranges::sort(group);
    if (!ended) return {std::move(group), FoundConflict::Outcome::kHidden};
    const bool confirmed = group.size() >= 2 && !trials_.fit({group}).front();
    return {std::move(group), confirmed ? FoundConflict::Outcome::kConfirmed : FoundConflict::Outcome::kFits};
  }

 private:
  void leave_out_parts(LineGroup& group) {
    double part = 0.5;  // fraction to leave out at once
    for (std::size_t round = 0; round < parameters_.max_rounds; ++round) {
      const auto drop = static_cast<std::size_t>(part * static_cast<double>(group.size()));
      if (drop < 2) break;
      bool found = false;
      for (std::size_t tried = 0; tried < parameters_.candidates && !found; tried += at_once_) {
        std::vector<LineGroup> candidates;
        for (std::size_t i = 0; i < at_once_; ++i) candidates.push_back(without(group, drop));
        const std::optional<std::size_t> first = first_that_does_not_fit(candidates);
        if (first) group = candidates[*first];
        found = first.has_value();
      }
      part = found ? std::min(0.5, 1.5 * part) : part / 2;
    }
  }

  LineGroup without(const LineGroup& group, std::size_t count) {
    LineGroup rest = group;
    std::ranges::shuffle(rest, random_);
    rest.resize(rest.size() - count);
    return rest;
  }

  // A glance at each group, and a second look at those that seem not to fit.
  std::optional<std::size_t> first_that_does_not_fit(const std::vector<LineGroup>& groups) {
    const std::vector<bool> too_many = trials_.seem_too_many(groups);
    std::size_t looks = 0;
    for (std::size_t i = 0; i < groups.size() && looks < parameters_.second_looks; ++i) {
      if (!too_many[i]) continue;
      ++looks;
      if (!trials_.fit({groups[i]}).front()) return i;
    }
    return std::nullopt;
  }

  // Returns whether it came to an end.
  bool leave_out_single_lines(LineGroup& group) {
    std::size_t sampled_rounds = 0;
    std::size_t large_rounds = 0;
    while (group.size() > 2) {
      const std::size_t lines = group.size();
      const bool is_small = lines <= parameters_.whole_set_lines;
      const bool is_large = !is_small && lines <= parameters_.large_set_lines;
      if (!is_small && sampled_rounds < parameters_.max_sampled_rounds) {
        ++sampled_rounds;
        if (leave_out(group, spare_lines(group, is_large ? parameters_.sampled_of_large : parameters_.sampled_lines))) {
          continue;
        }
        if (!is_large) break;
        sampled_rounds = parameters_.max_sampled_rounds;
      }
      if (!is_small && (!is_large || ++large_rounds > parameters_.max_large_rounds)) return false;
      if (!leave_out(group, spare_lines(group, lines))) break;
    }
    return true;
  }

  // Lines, of a sample of `singles` of the group, without which the rest still does not fit.
  LineGroup spare_lines(const LineGroup& group, std::size_t singles) {
    std::vector<std::size_t> places(group.size());
    std::iota(places.begin(), places.end(), std::size_t{0});
    std::ranges::shuffle(places, random_);
    places.resize(std::min(places.size(), singles));
    std::vector<LineGroup> candidates;
    for (const std::size_t place : places) {
      candidates.push_back(group);
      candidates.back().erase(candidates.back().begin() + static_cast<std::ptrdiff_t>(place));
    }
    const std::vector<bool> fits = trials_.fit(candidates);
    LineGroup spare;
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (!fits[i]) spare.push_back(group[places[i]]);
    }
    return spare;
  }

  // Each line can be spared, but perhaps not all together. Returns whether any was left out.
  bool leave_out(LineGroup& group, LineGroup spare) {
    spare.resize(std::min(spare.size(), group.size() - 2));
    for (; !spare.empty(); spare.resize(spare.size() == 1 ? 0 : (spare.size() + 1) / 2)) {
      LineGroup rest;
      std::ranges::copy_if(group, std::back_inserter(rest),
                           [&](std::uint32_t line) { return std::ranges::find(spare, line) == spare.end(); });
      if (trials_.fit({rest}).front()) continue;
      group = std::move(rest);
      return true;
    }
    return false;
  }

  LineTrials& trials_;
  const ConflictSearchParameters& parameters_;
  std::size_t at_once_;
  std::mt19937_64 random_;
};

// Pieces of `length` consecutive lines; the last may be shorter.
std::vector<LineGroup> cut(const LineGroup& lines, std::size_t length) {
  std::vector<LineGroup> pieces;
  for (std::size_t begin = 0; begin < lines.size(); begin += length) {
    pieces.emplace_back(lines.begin() + static_cast<std::ptrdiff_t>(begin),
                        lines.begin() + static_cast<std::ptrdiff_t>(std::min(begin + length, lines.size())));
  }
  return pieces;
}

LineGroup without(const LineGroup& lines, const std::set<std::uint32_t>& gone) {
  LineGroup rest;
  std::ranges::copy_if(lines, std::back_inserter(rest), [&](std::uint32_t line) { return !gone.contains(line); });
  return rest;
}

}  // namespace

FoundConflict search_conflict(LineTrials& trials, std::size_t lines, std::size_t at_once, std::uint64_t seed,
                              const ConflictSearchParameters& parameters) {
  return ConflictSearch(trials, at_once, seed, parameters).run(lines);
}

LineGroup search_conflicting_with(LineTrials& trials, const LineGroup& lines, std::uint32_t last, std::size_t least,
                                  const ConflictSearchParameters& parameters) {
  const auto fit_without = [&](const std::vector<LineGroup>& left_out) {
    std::vector<LineGroup> groups;
    for (const LineGroup& out : left_out) {
      groups.emplace_back(without(lines, {out.begin(), out.end()})).push_back(last);
    }
    return trials.fit(groups);
  };
  const std::size_t room = lines.size() > least ? lines.size() - least : 1;
  std::set<std::uint32_t> found;
  for (std::size_t look = 0; look < parameters.piece_looks; ++look) {
    const LineGroup others = without(lines, found);
    std::vector<LineGroup> pieces = cut(others, std::clamp<std::size_t>(others.size() / parameters.pieces, 1, room));
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
  const LineGroup others = without(lines, found);
  return without(lines, {others.begin(), others.end()});
}

}  // namespace gputopo::probe
