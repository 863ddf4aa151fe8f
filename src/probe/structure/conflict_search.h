// Searches for conflict sets: lines that do not all fit a cache, although all but any one of them do. Whatever the
// index and the policy, these are one more than a set has ways, all of that set. The questions about lines are behind
// an interface, so that tests can answer from literals. What fools it: answers that are wrong the same way twice.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace gputopo::probe {

using LineGroup = std::vector<std::uint32_t>;

class LineTrials {
 public:
  LineTrials() = default;
  LineTrials(const LineTrials&) = delete;
  LineTrials& operator=(const LineTrials&) = delete;
  virtual ~LineTrials() = default;

  // Whether each of the groups fits the cache, as reliably as possible.
  [[nodiscard]] virtual std::vector<bool> fit(const std::vector<LineGroup>& groups) = 0;
  // Whether each seems not to fit, at a glance: fast, and sometimes wrong.
  [[nodiscard]] virtual std::vector<bool> seem_too_many(const std::vector<LineGroup>& groups) = 0;
};

struct ConflictSearchParameters {
  // Candidates to try before leaving out a smaller part. Larger values waste fewer rounds; each candidate takes time.
  std::size_t candidates = 9;
  // Most candidates tried at once; usually one of them does not fit.
  std::size_t at_once = 3;
  // Candidates of one trial that get a second look if they seem not to fit.
  std::size_t second_looks = 2;
  // Rounds of leaving out parts; only a safety stop.
  std::size_t max_rounds = 2000;
  // Groups up to this size are tried without each of their lines, all at once. Covers a set of most known caches.
  std::size_t whole_set_lines = 200;
  // Larger groups, up to this size, are tried without each line of a sample and, if none of these can be spared, of
  // all. Models of Volta have sets of 256 lines.
  std::size_t large_set_lines = 1024;
  std::size_t sampled_of_large = 128;
  // Sample of still larger groups, and no look at all lines: only a fully associative cache has sets of this size.
  std::size_t sampled_lines = 25;
  // Rounds of samples, and of all lines of a large set. A few of thousands of lines too many are gone soon; if it goes
  // on, noise makes needed lines seem spare.
  std::size_t max_sampled_rounds = 12;
  std::size_t max_large_rounds = 8;
  // Initial pieces to leave out if all others are walked: about the ways of a cache.
  std::size_t pieces = 16;
  // Looks at the pieces that seem not to matter, as long as each look finds another line.
  std::size_t piece_looks = 3;
};

// Lines that seem to conflict, ascending.
struct FoundConflict {
  enum class Outcome : std::uint8_t {
    kConfirmed,
    kFits,    // the lines fit after all and only noise made them seem too many
    kHidden,  // leaving out lines does not end: noise hides one too many
  };
  LineGroup lines;
  Outcome outcome = Outcome::kFits;
};

// One conflict set among lines 0 to `lines` - 1, which do not fit: leaves out random lines while the rest does not
// fit. `at_once`: groups that take no longer to try than one.
[[nodiscard]] FoundConflict search_conflict(LineTrials& trials, std::size_t lines, std::size_t at_once,
                                            std::uint64_t seed, const ConflictSearchParameters& parameters = {});

// Returns, in order, each of `lines` without which the rest fits with `last`; `lines` fit without `last`. These are in
// the set that `last` overfills. Each trial keeps at least `least` lines.
[[nodiscard]] LineGroup search_conflicting_with(LineTrials& trials, const LineGroup& lines, std::uint32_t last,
                                                std::size_t least, const ConflictSearchParameters& parameters = {});

}  // namespace gputopo::probe
