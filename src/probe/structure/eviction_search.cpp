#include "probe/structure/eviction_search.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace gputopo::probe {
namespace {

using Pieces = std::vector<LinePiece>;
using Found = Decision<std::vector<std::uint32_t>>;

Pieces split(const LinePiece& whole, std::uint32_t parts) {
  Pieces pieces;
  for (std::uint32_t i = 0; i < parts; ++i) {
    const auto begin = static_cast<std::uint32_t>(std::uint64_t{whole.count} * i / parts);
    const auto end = static_cast<std::uint32_t>(std::uint64_t{whole.count} * (i + 1) / parts);
    if (end > begin) pieces.push_back({whole.first + begin, end - begin});
  }
  return pieces;
}

Pieces halves_of(const Pieces& pieces) {
  Pieces halves;
  for (const LinePiece& piece : pieces) std::ranges::copy(split(piece, 2), std::back_inserter(halves));
  return halves;
}

std::size_t count_lines(const Pieces& pieces) {
  return std::accumulate(pieces.begin(), pieces.end(), std::size_t{0},
                         [](std::size_t sum, const LinePiece& piece) { return sum + piece.count; });
}

std::vector<std::uint32_t> lines_of(const Pieces& pieces) {
  std::vector<std::uint32_t> lines;
  for (const LinePiece& piece : pieces) {
    for (std::uint32_t line = 0; line < piece.count; ++line) lines.push_back(piece.first + line);
  }
  std::ranges::sort(lines);
  return lines;
}

class EvictionSearch {
 public:
  EvictionSearch(const MissedRounds& missed_rounds, std::uint32_t lines, std::uint64_t seed,
                 const EvictionSearchParameters& parameters)
      : missed_rounds_(missed_rounds), lines_(lines), parameters_(parameters), random_(seed) {}

  Found run() {
    if (evicts({})) return {.why_not = "the tested line misses even if nothing evicts it"};
    const std::size_t trials = parameters_.trial_rounds;
    if (missed_rounds_({{0, lines_}}, passes_, trials) < trials) passes_ = parameters_.passes_by_chance;
    Pieces pieces = split({0, fewest_lines()}, parameters_.pieces);
    for (;;) {
      if (!still_evicts(pieces)) return {.why_not = "the lines that evicted the tested line no longer evict it"};
      leave_out(pieces);
      if (pieces.size() > parameters_.max_pieces)
        return {.why_not = "evicting the tested line takes more lines than a set can have ways"};
      if (pieces.empty())
        return {.why_not = "at the end of the search, the tested line misses even if nothing evicts it"};
      if (count_lines(pieces) <= parameters_.few_lines) return {lines_of(pieces)};
      pieces = halves_of(pieces);
    }
  }

 private:
  // Length of a short prefix of the lines that still evicts.
  std::uint32_t fewest_lines() {
    std::uint32_t lines = lines_;
    while (lines > parameters_.few_lines) {
      const auto fewer = static_cast<std::uint32_t>(parameters_.fewer_lines * lines);
      if (!evicts({{0, fewer}})) break;
      lines = fewer;
    }
    return lines;
  }

  // Leaves out, one after another, each piece without which the rest still evicts.
  void leave_out(Pieces& pieces) {
    std::ranges::shuffle(pieces, random_);
    for (std::size_t i = 0; i < pieces.size();) {
      const LinePiece piece = pieces[i];
      pieces.erase(pieces.begin() + static_cast<std::ptrdiff_t>(i));
      if (evicts(pieces)) continue;
      pieces.insert(pieces.begin() + static_cast<std::ptrdiff_t>(i), piece);
      ++i;
    }
  }

  // A single look may fail under random eviction.
  bool still_evicts(const Pieces& pieces) {
    for (std::size_t look = 0; look < parameters_.looks; ++look) {
      if (evicts(pieces)) return true;
    }
    return false;
  }

  bool evicts(const Pieces& pieces) {
    return 2 * missed_rounds_(pieces, passes_, parameters_.rounds) > parameters_.rounds;
  }

  const MissedRounds& missed_rounds_;
  std::uint32_t lines_;
  const EvictionSearchParameters& parameters_;
  std::mt19937_64 random_;
  std::size_t passes_ = 1;
};

}  // namespace

Decision<std::vector<std::uint32_t>> search_evicting_lines(const MissedRounds& missed_rounds, std::uint32_t lines,
                                                           std::uint64_t seed,
                                                           const EvictionSearchParameters& parameters) {
  return EvictionSearch(missed_rounds, lines, seed, parameters).run();
}

}  // namespace gputopo::probe
