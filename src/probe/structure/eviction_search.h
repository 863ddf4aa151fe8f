// Searches for lines that evict a victim from a cache that is too large to walk repeatedly: touches far more than it
// holds, then leaves out, part by part, what is not needed (after Vila et al., Theory and Practice of Finding Eviction
// Sets, S&P 2019, section V). A function answers for the lines. What fools it: a victim that others evict, too.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "probe/bench/decision.h"

namespace gputopo::probe {

struct LinePiece {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

// Number of `rounds` after which the victim misses, if each round touches the pieces `passes` times.
using MissedRounds =
    std::function<std::size_t(const std::vector<LinePiece>& pieces, std::size_t passes, std::size_t rounds)>;

struct EvictionSearchParameters {
  // Rounds of a look; the majority decides, so it is odd. Larger values are surer against neighbors, and take longer.
  std::size_t rounds = 3;
  // Rounds of touching everything. If not all of them evict the victim, eviction is random.
  std::size_t trial_rounds = 9;
  // Passes in a round if eviction is random: enough to evict the victim nearly always.
  std::size_t passes_by_chance = 16;
  // Looks at pieces that should evict the victim before they are given up: random eviction may fail.
  std::size_t looks = 3;
  // Fraction of the lines kept when fewer are tried. Smaller values are quicker, but leave more to leave out later.
  double fewer_lines = 0.9;
  // Pieces to begin with. Larger values make each piece less likely to matter.
  std::uint32_t pieces = 32;
  // Most pieces that may be needed: several times the ways of any cache.
  std::size_t max_pieces = 256;
  // At this many lines the search ends, because looking at them one by one is surer from there.
  std::uint32_t few_lines = 2048;
};

// A few of lines 0 to `lines` - 1 that evict the victim, ascending.
[[nodiscard]] Decision<std::vector<std::uint32_t>> search_evicting_lines(
    const MissedRounds& missed_rounds, std::uint32_t lines, std::uint64_t seed,
    const EvictionSearchParameters& parameters = {});

}  // namespace gputopo::probe
