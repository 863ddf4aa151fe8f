// Decides which operations share a unit, from plain numbers.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace gputopo::probe {

struct PipesParameters {
  // Part of the shorter operation's time by which the pair exceeds the longer one: from `shared` on they share a unit,
  // up to `apart` they share none, and in between they share a part.
  double shared = 0.75;
  double apart = 0.25;
  // With a larger ratio of times, the shorter operation does not show in the time of the pair.
  double most_unlike = 20;
};

// Times of an SM full of warps, in any unit.
struct PairTimes {
  std::vector<double> alone;               // by operation: of one operation
  std::vector<std::vector<double>> mixed;  // [i][j], j > i: of one of each
};

using OperationPair = std::pair<std::size_t, std::size_t>;

struct Pipes {
  std::vector<std::vector<std::size_t>> groups;  // operations that share a unit, ordered by first member
  std::vector<OperationPair> partly;             // pairs that share a part of one
  std::vector<OperationPair> undecided;          // too unlike, or so fast that issuing both takes as long
  std::vector<OperationPair> across;             // pairs that share one, although others of their groups do not
  std::vector<std::vector<double>> shared;       // [i][j], j > i: part of the shorter time that the pair adds
};

// In a group, every two operations share a unit or are undecided. Operations that read registers through the same port
// also slow each other down; without this rule they would chain all units together.
[[nodiscard]] Pipes decide_pipes(const PairTimes& times, const PipesParameters& parameters = {});

}  // namespace gputopo::probe
