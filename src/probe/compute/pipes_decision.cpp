#include "probe/compute/pipes_decision.h"

#include <algorithm>
#include <functional>
#include <iterator>

namespace gputopo::probe {
namespace {

enum class Relation : std::uint8_t { kApart, kPartly, kShared, kUndecided };

Relation relation_of(double first, double second, double part, double issue, const PipesParameters& parameters) {
  const auto [shorter, longer] = std::minmax(first, second);
  const bool issue_says_it = 2 * issue >= longer + parameters.shared * shorter;
  if (longer > parameters.most_unlike * shorter || (issue_says_it && part > parameters.apart)) {
    return Relation::kUndecided;
  }
  if (part >= parameters.shared) return Relation::kShared;
  return part > parameters.apart ? Relation::kPartly : Relation::kApart;
}

using Relations = std::vector<std::vector<Relation>>;  // [i][j], j > i

bool may_be_one(const std::vector<std::size_t>& one, const std::vector<std::size_t>& other,
                const Relations& relations) {
  return std::ranges::all_of(one, [&](std::size_t i) {
    return std::ranges::all_of(other, [&](std::size_t j) {
      const Relation relation = relations[std::min(i, j)][std::max(i, j)];
      return relation == Relation::kShared || relation == Relation::kUndecided;
    });
  });
}

// Joins the groups of each sharing pair in turn, unless some of their members are known to be apart. Each operation
// starts as its own group. `group_of`: index of each operation's group; groups that joined another one are empty.
std::vector<std::vector<std::size_t>> joined_groups(const std::vector<OperationPair>& sharing,
                                                    const Relations& relations, std::vector<std::size_t>& group_of) {
  std::vector<std::vector<std::size_t>> groups(group_of.size());
  for (std::size_t i = 0; i < groups.size(); ++i) groups[group_of[i] = i] = {i};
  for (const auto& [i, j] : sharing) {
    const std::size_t one = std::min(group_of[i], group_of[j]);
    const std::size_t other = std::max(group_of[i], group_of[j]);
    if (one == other || !may_be_one(groups[one], groups[other], relations)) continue;
    for (const std::size_t member : groups[other]) group_of[member] = one;
    groups[one].insert(groups[one].end(), groups[other].begin(), groups[other].end());
    groups[other].clear();
  }
  return groups;
}

}  // namespace

Pipes decide_pipes(const PairTimes& times, const PipesParameters& parameters) {
  const std::size_t count = times.alone.size();
  Pipes pipes;
  pipes.shared.assign(count, std::vector<double>(count, 0));
  if (count == 0) return pipes;
  // No operation takes less time than its issue.
  const double issue = *std::ranges::min_element(times.alone);
  Relations relations(count, std::vector<Relation>(count, Relation::kApart));
  std::vector<OperationPair> sharing;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = i + 1; j < count; ++j) {
      const auto [shorter, longer] = std::minmax(times.alone[i], times.alone[j]);
      const double part = (times.mixed[i][j] - longer) / shorter;
      pipes.shared[i][j] = part;
      relations[i][j] = relation_of(times.alone[i], times.alone[j], part, issue, parameters);
      if (relations[i][j] == Relation::kShared) sharing.emplace_back(i, j);
      if (relations[i][j] == Relation::kPartly) pipes.partly.emplace_back(i, j);
      if (relations[i][j] == Relation::kUndecided) pipes.undecided.emplace_back(i, j);
    }
  }
  // Pairs that share the most come first.
  std::ranges::stable_sort(sharing, std::ranges::greater{},
                           [&](const OperationPair& pair) { return pipes.shared[pair.first][pair.second]; });
  std::vector<std::size_t> group_of(count);
  std::vector<std::vector<std::size_t>> groups = joined_groups(sharing, relations, group_of);
  std::ranges::copy_if(sharing, std::back_inserter(pipes.across),
                       [&](const OperationPair& pair) { return group_of[pair.first] != group_of[pair.second]; });
  std::ranges::sort(pipes.across);
  for (std::vector<std::size_t>& group : groups) {
    if (group.empty()) continue;
    std::ranges::sort(group);
    pipes.groups.push_back(std::move(group));
  }
  return pipes;
}

}  // namespace gputopo::probe
