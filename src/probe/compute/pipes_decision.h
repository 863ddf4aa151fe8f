// Which operations share a unit, from plain numbers.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace gputopo::probe {

struct PipesParameters {
  // From this part on of the shorter one's time that a pair takes longer than the longer one they share a unit, and up
  // to that they share none; between, a part of it.
  double shared = 0.75;
  double apart = 0.25;
  // Of times that differ by more than this factor the shorter one cannot be seen in the pair's.
  double most_unlike = 20;
};

// Times of an SM full of warps, in any unit.
struct PairTimes {
  std::vector<double> alone;               // by operation: of one of it
  std::vector<std::vector<double>> mixed;  // [i][j], j > i: of one of each
};

using OperationPair = std::pair<std::size_t, std::size_t>;

struct Pipes {
  std::vector<std::vector<std::size_t>> groups;  // operations that share a unit, by their first member
  std::vector<OperationPair> partly;             // that share a part of one
  std::vector<OperationPair> undecided;          // too unlike, or so quick that to issue both takes as long
  std::vector<OperationPair> across;             // that share one, though others of their groups do not
  std::vector<std::vector<double>> shared;       // [i][j], j > i: which part of the shorter one's time came on top
};

// Of a group every two share a unit, or are undecided: what reads registers through the same port slows one another
// down as well, and would chain all units together.
[[nodiscard]] Pipes decide_pipes(const PairTimes& times, const PipesParameters& parameters = {});

}  // namespace gputopo::probe
