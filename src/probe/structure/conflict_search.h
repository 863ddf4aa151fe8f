// Looks for conflict sets: lines that do not all fit a cache although any one less of them do. Whatever the index and
// the replacement, such lines are one more than a set has ways, and all of that set. What it asks of lines is behind an
// interface, so that a cache of literals can answer. Fooled by answers that are wrong the same way twice.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace gputopo::probe {

// Lines by their numbers.
using LineGroup = std::vector<std::uint32_t>;

// What can be asked of groups of lines.
class LineTrials {
 public:
  LineTrials() = default;
  LineTrials(const LineTrials&) = delete;
  LineTrials& operator=(const LineTrials&) = delete;
  virtual ~LineTrials() = default;

  // Whether each of the groups fits the cache, as surely as that can be told.
  [[nodiscard]] virtual std::vector<bool> fit(const std::vector<LineGroup>& groups) = 0;
  // Whether each seems not to, at a glance: quickly, and wrong now and then.
  [[nodiscard]] virtual std::vector<bool> seem_too_many(const std::vector<LineGroup>& groups) = 0;
};

struct ConflictSearchParameters {
  // Candidates that are tried before less is left out of a group. More: fewer rounds for nothing; each takes its time.
  std::size_t candidates = 9;
  // Of which so many are tried at once at most: one of them will do, as a rule.
  std::size_t at_once = 3;
  // Of those tried at once, how many are looked at again where they seem not to fit.
  std::size_t second_looks = 2;
  // Rounds of leaving out parts; only a stop.
  std::size_t max_rounds = 2000;
  // Lines that are left out one by one, all at once: those of a set of most caches known.
  std::size_t whole_set_lines = 200;
  // Of larger groups a sample, and where that finds none to leave out, all of them once more: models of Volta have sets
  // of 256 lines.
  std::size_t large_set_lines = 1024;
  std::size_t sampled_of_large = 128;
  // Of still larger ones fewer, and no look at all of them: only a fully associative cache can have so many in a set.
  std::size_t sampled_lines = 25;
  // Rounds of samples, and of all lines of a large set. Of thousands of lines a few too many are gone soon; where it
  // goes on, noise takes those for spare that are not.
  std::size_t max_sampled_rounds = 12;
  std::size_t max_large_rounds = 8;
  // Pieces that lines are left out by to begin with, where all others are walked: about the ways of a cache.
  std::size_t pieces = 16;
  // Looks at the pieces that seem not to matter, as long as that finds another line.
  std::size_t piece_looks = 3;
};

// Lines that seem to conflict, ascending.
struct FoundConflict {
  enum class Outcome : std::uint8_t {
    kConfirmed,
    kFits,    // what seemed too many fits after all: noise
    kHidden,  // leaving out lines goes on: one too many is not told from noise
  };
  LineGroup lines;
  Outcome outcome = Outcome::kFits;
};

// One conflict set of lines 0 to `lines` - 1, that do not fit: lines are left out at random as long as what is left
// does not. `at_once`: groups of lines that take no longer to try than one does.
[[nodiscard]] FoundConflict search_conflict(LineTrials& trials, std::size_t lines, std::size_t at_once,
                                            std::uint64_t seed, const ConflictSearchParameters& parameters = {});

// Of lines that fit, but not with `last`: those without any of which the rest fits, in their order. They are of the set
// that `last` is one too many for. At least `least` lines are left in whatever is tried.
[[nodiscard]] LineGroup search_conflicting_with(LineTrials& trials, const LineGroup& lines, std::uint32_t last,
                                                std::size_t least, const ConflictSearchParameters& parameters = {});

}  // namespace gputopo::probe
