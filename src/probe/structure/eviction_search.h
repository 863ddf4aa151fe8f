// Looks for lines that evict another from a cache too large to walk again and again: far more than it holds is touched,
// and what is not needed for that is left out part by part (after Vila et al., Theory and Practice of Finding Eviction
// Sets, S&P 2019, section V). What it asks of lines is a function. Fooled by a victim that others evict, too.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "probe/bench/decision.h"

namespace gputopo::probe {

// Consecutive lines.
struct LinePiece {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

// Of so many rounds, in each of which the pieces are touched `passes` times, those after which the victim misses.
using MissedRounds =
    std::function<std::size_t(const std::vector<LinePiece>& pieces, std::size_t passes, std::size_t rounds)>;

struct EvictionSearchParameters {
  // Rounds of a look, most of which decide. Odd. More is surer against neighbours, and takes longer.
  std::size_t rounds = 3;
  // Rounds of touching everything, all of which must evict the victim, or it is taken for evicted by chance only.
  std::size_t trial_rounds = 9;
  // Passes of touching everything in a round, where one evicts the victim by chance only: enough for nearly always.
  std::size_t passes_by_chance = 16;
  // Looks at pieces that should evict the victim before they are given up, because by chance they may not.
  std::size_t looks = 3;
  // Part of the lines that is kept where fewer are tried. Smaller is quicker and leaves more to leave out later.
  double fewer_lines = 0.9;
  // Pieces to begin with. More: each of them less likely to matter.
  std::uint32_t pieces = 32;
  // Pieces that may be needed: several times the ways of any cache.
  std::size_t max_pieces = 256;
  // Lines that are looked at one by one more surely than here.
  std::uint32_t few_lines = 2048;
};

// Of lines 0 to `lines` - 1 a few that evict the victim, ascending.
[[nodiscard]] Decision<std::vector<std::uint32_t>> search_evicting_lines(
    const MissedRounds& missed_rounds, std::uint32_t lines, std::uint64_t seed,
    const EvictionSearchParameters& parameters = {});

}  // namespace gputopo::probe
