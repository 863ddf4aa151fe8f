// The searches for lines of one set, on caches modeled by a line of arithmetic.
#include "probe/structure/conflict_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>

#include "probe/structure/eviction_search.h"

namespace gputopo::probe {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::SizeIs;

std::uint32_t modulo_16(std::uint32_t line) { return line % 16; }
std::uint32_t hashed_16(std::uint32_t line) { return (line * 2654435761u >> 13) % 16; }
std::uint32_t one_set(std::uint32_t) { return 0; }

// Lines fit while no set has more of them than ways.
class FakeLines : public LineTrials {
 public:
  FakeLines(std::function<std::uint32_t(std::uint32_t)> set_of, std::size_t ways)
      : set_of_(std::move(set_of)), ways_(ways) {}

  std::vector<bool> fit(const std::vector<LineGroup>& groups) override {
    std::vector<bool> answers;
    for (const LineGroup& group : groups) {
      least_ = std::min(least_, group.size());
      std::map<std::uint32_t, std::size_t> lines;
      for (const std::uint32_t line : group) ++lines[set_of_(line)];
      answers.push_back(std::ranges::all_of(lines, [&](const auto& set) { return set.second <= ways_; }));
    }
    return answers;
  }
  std::vector<bool> seem_too_many(const std::vector<LineGroup>& groups) override {
    if (blind_) return std::vector<bool>(groups.size());
    std::vector<bool> answers = fit(groups);
    answers.flip();
    return answers;
  }

  [[nodiscard]] std::size_t least() const { return least_; }  // fewest lines of a trial
  void go_blind() { blind_ = true; }                          // at a glance everything fits

 private:
  std::function<std::uint32_t(std::uint32_t)> set_of_;
  std::size_t ways_;
  std::size_t least_ = 1000000;
  bool blind_ = false;
};

void expect_one_set(const FoundConflict& found, std::uint32_t (*set_of)(std::uint32_t), std::size_t lines) {
  EXPECT_EQ(found.outcome, FoundConflict::Outcome::kConfirmed);
  ASSERT_THAT(found.lines, SizeIs(lines));
  EXPECT_TRUE(std::ranges::is_sorted(found.lines));
  std::vector<std::uint32_t> sets;
  for (const std::uint32_t line : found.lines) sets.push_back(set_of(line));
  EXPECT_THAT(sets, Each(sets.front()));
}

TEST(ConflictSearch, FindsOneLineMoreThanASetHasWays) {
  for (const std::size_t ways : {1, 2, 4, 12}) {
    for (const std::uint64_t seed : {1, 2, 3}) {
      FakeLines modulo(modulo_16, ways);
      expect_one_set(search_conflict(modulo, 32 * ways, 3, seed), modulo_16, ways + 1);
      FakeLines hashed(hashed_16, ways);
      expect_one_set(search_conflict(hashed, 32 * ways, 1, seed), hashed_16, ways + 1);
    }
  }
}

TEST(ConflictSearch, FindsAllLinesOfAFullyAssociativeCache) {
  FakeLines small(one_set, 64);
  expect_one_set(search_conflict(small, 128, 3, 1), one_set, 65);
  FakeLines large(one_set, 300);
  expect_one_set(search_conflict(large, 600, 3, 1), one_set, 301);
}

// Like models of Volta and Turing: half of the rest is in other sets, and no further part can be left out.
TEST(ConflictSearch, FindsSetsOfHundredsOfLines) {
  const auto set_of = [](std::uint32_t line) { return line % 4; };
  for (const std::size_t ways : {128, 192, 256}) {
    FakeLines lines(set_of, ways);
    expect_one_set(search_conflict(lines, 8 * ways, 1, ways), set_of, ways + 1);
  }
}

TEST(ConflictSearch, NeedsNoGlance) {
  FakeLines lines(modulo_16, 4);
  lines.go_blind();
  expect_one_set(search_conflict(lines, 128, 3, 1), modulo_16, 5);
}

TEST(ConflictSearch, LinesThatFitAreNoConflict) {
  FakeLines lines(modulo_16, 4);
  EXPECT_EQ(search_conflict(lines, 64, 3, 1).outcome, FoundConflict::Outcome::kFits);
  EXPECT_EQ(search_conflict(lines, 1, 3, 1).outcome, FoundConflict::Outcome::kFits);
  EXPECT_EQ(search_conflict(lines, 0, 3, 1).outcome, FoundConflict::Outcome::kFits);
}

// Disturbed walks: one line less never seems to matter, two less always do.
class EndlessLines : public LineTrials {
 public:
  std::vector<bool> fit(const std::vector<LineGroup>& groups) override {
    std::vector<bool> answers;
    for (const LineGroup& group : groups) answers.push_back(group.size() + 1 < smallest_);
    if (groups.size() == 1 && !answers.front()) smallest_ = groups.front().size();
    return answers;
  }
  std::vector<bool> seem_too_many(const std::vector<LineGroup>& groups) override {
    return std::vector<bool>(groups.size());
  }

 private:
  std::size_t smallest_ = 1000;
};

TEST(ConflictSearch, GivesUpWhereLeavingOutLinesGoesOn) {
  EndlessLines lines;
  EXPECT_EQ(search_conflict(lines, 1000, 3, 1).outcome, FoundConflict::Outcome::kHidden);
}

TEST(ConflictSearch, OfLinesThatFitNamesThoseThatOneMoreIsTooManyFor) {
  LineGroup packed(64);
  for (std::uint32_t i = 0; i < 64; ++i) packed[i] = i;
  for (const std::size_t least : {0u, 40u, 62u, 64u, 100u}) {
    FakeLines lines(modulo_16, 4);
    EXPECT_THAT(search_conflicting_with(lines, packed, 69, least), ElementsAre(5, 21, 37, 53));
    EXPECT_GT(lines.least(), std::min<std::size_t>(least, 63)) << "that many, and the one too many";
  }
}

TEST(ConflictSearch, OfLinesThatFitWithOneMoreNamesAll) {
  FakeLines lines(modulo_16, 4);
  const LineGroup some = {0, 1, 2, 3};
  EXPECT_THAT(search_conflicting_with(lines, some, 16, 0), some) << "without any of them the rest fits";
  EXPECT_THAT(search_conflicting_with(lines, {}, 16, 0), SizeIs(0));
}

// ---- lines that evict another ----

constexpr std::uint32_t kSets = 512;
constexpr std::uint32_t kVictimSet = 77;

// The victim is evicted once `ways` lines of its set were touched.
std::size_t missed_of_set(const std::vector<LinePiece>& pieces, std::size_t rounds, std::uint32_t ways) {
  std::uint32_t lines = 0;
  for (const LinePiece& piece : pieces) {
    for (std::uint32_t line = piece.first; line < piece.first + piece.count; ++line) {
      lines += line % kSets == kVictimSet ? 1 : 0;
    }
  }
  return lines >= ways ? rounds : 0;
}

TEST(EvictionSearch, KeepsWhatEvictsTheVictim) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    const auto missed = [](const std::vector<LinePiece>& pieces, std::size_t, std::size_t rounds) {
      return missed_of_set(pieces, rounds, 16);
    };
    const LineGroup found = search_evicting_lines(missed, 32 * kSets, seed).value.value();
    EXPECT_LE(found.size(), 2048u);
    EXPECT_TRUE(std::ranges::is_sorted(found));
    EXPECT_GE(std::ranges::count_if(found, [](std::uint32_t line) { return line % kSets == kVictimSet; }), 16);
  }
}

TEST(EvictionSearch, TouchesAgainWhereOneTouchEvictsByChanceOnly) {
  std::size_t most_passes = 0;
  const auto missed = [&](const std::vector<LinePiece>& pieces, std::size_t passes, std::size_t rounds) {
    most_passes = std::max(most_passes, passes);
    const std::size_t all = missed_of_set(pieces, rounds, 16);
    return passes > 1 ? all : all - all / 4;
  };
  EXPECT_TRUE(search_evicting_lines(missed, 32 * kSets, 1).value);
  EXPECT_EQ(most_passes, EvictionSearchParameters{}.passes_by_chance);
}

TEST(EvictionSearch, SaysWhyItFoundNone) {
  const auto always = [](const std::vector<LinePiece>&, std::size_t, std::size_t rounds) { return rounds; };
  EXPECT_EQ(search_evicting_lines(always, 4096, 1).why_not, "the tested line misses even if nothing evicts it");
  const auto never = [](const std::vector<LinePiece>&, std::size_t, std::size_t) { return std::size_t{0}; };
  EXPECT_EQ(search_evicting_lines(never, 4096, 1).why_not, "the lines that evicted the tested line no longer evict it");
  // No line can be left out: 4096 lines in 32, 64, 128, 256 and 512 pieces.
  const auto all = [](const std::vector<LinePiece>& pieces, std::size_t, std::size_t rounds) {
    std::uint32_t lines = 0;
    for (const LinePiece& piece : pieces) lines += piece.count;
    return lines >= 32 * kSets ? rounds : 0;
  };
  EXPECT_EQ(search_evicting_lines(all, 32 * kSets, 1).why_not,
            "evicting the tested line takes more lines than a set can have ways");
}

}  // namespace
}  // namespace gputopo::probe
