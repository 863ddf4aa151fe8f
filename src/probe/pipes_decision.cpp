#include "probe/pipes_decision.h"

#include <algorithm>
#include <numeric>

namespace gputopo::probe {
namespace {

// The first of those that an operation is put together with.
std::size_t first_of(const std::vector<std::size_t>& leaders, std::size_t i) {
  while (leaders[i] != i) i = leaders[i];
  return i;
}

}  // namespace

Pipes decide_pipes(const PairTimes& times, const PipesParameters& parameters) {
  const std::size_t count = times.alone.size();
  Pipes pipes;
  pipes.shared.assign(count, std::vector<double>(count, 0));
  if (count == 0) return pipes;
  // No operation takes less than to issue it.
  const double issue = *std::ranges::min_element(times.alone);
  std::vector<std::size_t> leaders(count);
  std::iota(leaders.begin(), leaders.end(), std::size_t{0});
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = i + 1; j < count; ++j) {
      const auto [shorter, longer] = std::minmax(times.alone[i], times.alone[j]);
      const double part = (times.mixed[i][j] - longer) / shorter;
      pipes.shared[i][j] = part;
      const bool issue_says_it = 2 * issue >= longer + parameters.shared * shorter;
      if (longer > parameters.most_unlike * shorter || (issue_says_it && part > parameters.apart)) {
        pipes.undecided.emplace_back(i, j);
      } else if (part >= parameters.shared) {
        const std::size_t one = first_of(leaders, i);
        const std::size_t other = first_of(leaders, j);
        leaders[std::max(one, other)] = std::min(one, other);
      } else if (part > parameters.apart) {
        pipes.partly.emplace_back(i, j);
      }
    }
  }
  std::vector<std::size_t> place(count, count);  // of groups, by their first member
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t leader = first_of(leaders, i);
    if (place[leader] == count) {
      place[leader] = pipes.groups.size();
      pipes.groups.emplace_back();
    }
    pipes.groups[place[leader]].push_back(i);
  }
  return pipes;
}

}  // namespace gputopo::probe
