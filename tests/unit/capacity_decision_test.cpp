// Which views of a cache's size the decision asks for, and what they show together.
#include <gmock/gmock.h>

#include "probe/capacity/views_decision.h"

namespace gputopo::probe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

constexpr double kLine = 128;
constexpr double kSize = 65536;

// A footprint per octave from a quarter of the size on. Up to the size all loads hit, beyond it the given part.
std::vector<FootprintHits> octaves(double hits_beyond) {
  std::vector<FootprintHits> sweep;
  for (double bytes = kSize / 4; bytes <= 8 * kSize; bytes *= 2) {
    sweep.push_back({bytes, bytes <= kSize ? 1.0 : hits_beyond});
  }
  return sweep;
}

SizeView view(double bytes, bool settled = true) { return {bytes, {bytes - kLine, bytes + kLine}, settled}; }

// A sample with the given standard error.
SampledResidency sample_of(double bytes, double error, double old_part = 0) {
  return {bytes, {bytes - 1.96 * error, bytes + 1.96 * error}, old_part};
}

// The cache of an SM: a line is one fetch, and everything but the views is known.
CapacityEvidence evidence_of_sm(double hits_beyond) {
  return {.guess_bytes = kSize,
          .line_bytes = kLine,
          .stride_bytes = kLine,
          .fits_bytes = static_cast<std::uint64_t>(kSize),
          .sweep = octaves(hits_beyond)};
}

// Results of the views.
struct Answers {
  SizeView resident = view(kSize);
  SizeView fits = view(kSize);
  double packed = 0;
  std::vector<SampledResidency> sampled = {sample_of(kSize, 500)};
  MemoryLoads memory;
  std::optional<std::string> not_sampled;
};

// Follows next_look() to the end.
std::vector<Look> follow(CapacityEvidence& evidence, const Answers& answers) {
  constexpr std::size_t kMaxLooks = 10;
  std::vector<Look> looks;
  while (const std::optional<Look> look = next_look(evidence)) {
    looks.push_back(*look);
    if (looks.size() > kMaxLooks) break;
    if (look->view == CapacityMethod::kMemoryLoads) evidence.memory = answers.memory;
    if (look->view == CapacityMethod::kResident) evidence.resident = answers.resident;
    if (look->view == CapacityMethod::kFits) evidence.fits = answers.fits;
    if (look->view == CapacityMethod::kPacked) evidence.packed_bytes = answers.packed;
    if (look->view != CapacityMethod::kSampled) continue;
    if (evidence.sampled.size() < answers.sampled.size()) {
      evidence.sampled.push_back(answers.sampled[evidence.sampled.size()]);
    } else {
      evidence.not_sampled = answers.not_sampled.value_or("a third sample");
    }
  }
  return looks;
}

std::vector<CapacityMethod> views_of(const std::vector<Look>& looks) {
  std::vector<CapacityMethod> views;
  for (const Look& look : looks) views.push_back(look.view);
  return views;
}

Capacity decided(const CapacityEvidence& evidence) {
  const Decision<Capacity> decision = decide_capacity(evidence);
  EXPECT_TRUE(decision.value) << decision.why_not;
  return decision.value.value_or(Capacity{});
}

TEST(CapacityDecision, LruIsReadBackwardsAndASmallSampleConfirmsIt) {
  CapacityEvidence evidence = evidence_of_sm(0);
  const std::vector<Look> looks = follow(evidence, {});
  EXPECT_THAT(views_of(looks), ElementsAre(CapacityMethod::kResident, CapacityMethod::kFits, CapacityMethod::kSampled));
  EXPECT_EQ(looks.back().samples, 12000u);
  EXPECT_EQ(looks.back().capacities, 3);
  EXPECT_EQ(looks.back().base_bytes, kSize);
  const Capacity found = decided(evidence);
  EXPECT_EQ(found.method, "resident_backwards");
  EXPECT_EQ(found.bytes, kSize);
  EXPECT_EQ(found.interval.low, kSize - kLine);
  EXPECT_EQ(found.interval.high, kSize + kLine);
  EXPECT_EQ(found.first_miss_bytes, kSize);
  EXPECT_EQ(found.all_miss_bytes, 2 * kSize);
  EXPECT_EQ(found.sampled_bytes, kSize);
}

TEST(CapacityDecision, ASmallCacheThatIsNotLruIsPacked) {
  CapacityEvidence evidence = evidence_of_sm(0.3);
  const std::vector<Look> looks = follow(evidence, {.resident = view(0.8 * kSize),
                                                    .fits = view(0.5 * kSize),
                                                    .packed = kSize,
                                                    .sampled = {sample_of(1.2 * kSize, 10)}});
  EXPECT_THAT(views_of(looks), ElementsAre(CapacityMethod::kResident, CapacityMethod::kFits, CapacityMethod::kPacked,
                                           CapacityMethod::kSampled));
  EXPECT_EQ(looks.back().samples, 12000u) << "packing is exact, so a first look is enough";
  const Capacity found = decided(evidence);
  EXPECT_EQ(found.method, "packed_places");
  EXPECT_EQ(found.bytes, kSize);
  EXPECT_EQ(found.interval.high, kSize + kLine) << "however large the sample";
}

// Behind another cache, noise rejects lines that fit, or makes one line too many seem to fit.
TEST(CapacityDecision, PackedPlacesBehindAnotherCacheAreHeldAgainstTwoViews) {
  const auto found = [](double packed, double resident, double fits, double sampled) {
    CapacityEvidence evidence = evidence_of_sm(0.3);
    evidence.is_behind = true;
    follow(evidence,
           {.resident = view(resident), .fits = view(fits), .packed = packed, .sampled = {sample_of(sampled, 100)}});
    return decide_capacity(evidence);
  };
  const double less = 0.94 * kSize;
  EXPECT_GT(found(less, kSize, 0.5 * kSize, kSize).value.value().interval.high, kSize);
  EXPECT_EQ(found(less, less, 0.5 * kSize, kSize).value.value().interval.high, less + kLine) << "one view alone";
  EXPECT_THAT(found(0.2 * kSize, kSize, 0.1 * kSize, kSize).why_not, HasSubstr("packing finds"));
  const double more = 1.06 * kSize;
  EXPECT_EQ(found(more, kSize, kSize, kSize).value.value().interval.low, kSize);
  EXPECT_EQ(found(more, kSize, 0.5 * kSize, kSize).value.value().interval.low, kSize) << "nor does a sample tell it";
  EXPECT_EQ(found(more, kSize, 0.5 * kSize, more).value.value().interval.low, more - kLine);
}

TEST(CapacityDecision, WhatSmsShareBehindAnotherCacheIsReadWithAFewLinesOfThatOne) {
  CapacityEvidence evidence = evidence_of_sm(0);
  evidence.is_shared = true;
  evidence.guess_bytes = 512 * kSize;
  const SizeView resident = view(512 * kSize + 4 * kLine);
  follow(evidence, {.resident = resident, .sampled = {sample_of(512 * kSize, 100)}});
  EXPECT_EQ(decided(evidence).interval.low, resident.interval.low);
  evidence.is_behind = true;
  EXPECT_LT(decided(evidence).interval.low, 512 * kSize);
}

// Under a hashed index, a space with a size limit never overfills the sets that get the fewest lines.
TEST(CapacityDecision, ArraysThatAreHardlyLargerMayLeaveSetsUnfilled) {
  const Capacity hashed{.bytes = 38784, .first_miss_bytes = 27520};
  EXPECT_TRUE(may_leave_sets_unfilled(hashed, 65536));
  EXPECT_FALSE(may_leave_sets_unfilled(hashed, 0)) << "no limit";
  EXPECT_FALSE(may_leave_sets_unfilled(hashed, 4 * 38784));
  EXPECT_FALSE(may_leave_sets_unfilled({.bytes = 38784, .first_miss_bytes = 38656}, 65536)) << "sets are alike";
}

TEST(CapacityDecision, ALargeCacheThatIsNotLruIsSampledInFull) {
  CapacityEvidence evidence = evidence_of_sm(0.3);
  const std::vector<Look> looks = follow(
      evidence, {.resident = view(0.8 * kSize), .fits = view(0.5 * kSize), .sampled = {sample_of(kSize + 50, 100)}});
  EXPECT_THAT(views_of(looks), ElementsAre(CapacityMethod::kResident, CapacityMethod::kFits, CapacityMethod::kPacked,
                                           CapacityMethod::kSampled));
  EXPECT_EQ(looks.back().samples, 270000u);
  const Capacity found = decided(evidence);
  EXPECT_EQ(found.method, "sampled_residency");
  EXPECT_EQ(found.bytes, kSize) << "whole lines";
  EXPECT_DOUBLE_EQ(found.interval.low, kSize + 50 - 196 - kLine / 2);
}

TEST(CapacityDecision, ASampleThatIsHardlyLargerWidensALowerBound) {
  CapacityEvidence evidence = evidence_of_sm(0.3);
  follow(evidence, {.sampled = {sample_of(kSize + 100, 100)}});
  const Capacity found = decided(evidence);
  EXPECT_EQ(found.method, "resident_backwards");
  EXPECT_EQ(found.bytes, kSize);
  EXPECT_DOUBLE_EQ(found.interval.high, kSize + 100 + 196);
}

TEST(CapacityDecision, AnExactViewStandsUnlessTheFullSampleIsFarAboveIt) {
  CapacityEvidence evidence = evidence_of_sm(0);
  const std::vector<Look> looks =
      follow(evidence, {.sampled = {sample_of(kSize + 600, 500), sample_of(kSize + 400, 100)}});
  EXPECT_THAT(views_of(looks), ElementsAre(CapacityMethod::kResident, CapacityMethod::kFits, CapacityMethod::kSampled,
                                           CapacityMethod::kSampled));
  EXPECT_EQ(looks.back().samples, 270000u);
  EXPECT_EQ(decided(evidence).method, "resident_backwards") << "four errors";
  EXPECT_EQ(decided(evidence).interval.high, kSize + kLine) << "an exact view is not widened";

  evidence = evidence_of_sm(0);
  follow(evidence, {.sampled = {sample_of(kSize + 600, 500), sample_of(kSize + 1000, 100)}});
  EXPECT_EQ(decided(evidence).method, "sampled_residency") << "ten errors";
}

TEST(CapacityDecision, WhatIsReadBackwardsMayStillHaveGrown) {
  CapacityEvidence evidence = evidence_of_sm(0);
  const std::vector<Look> looks =
      follow(evidence,
             {.resident = view(kSize, false), .sampled = {sample_of(0.9 * kSize, 500), sample_of(kSize + 300, 100)}});
  EXPECT_THAT(views_of(looks), ElementsAre(CapacityMethod::kResident, CapacityMethod::kFits, CapacityMethod::kSampled,
                                           CapacityMethod::kSampled));
  EXPECT_EQ(decided(evidence).method, "sampled_residency") << "three errors above what is not settled";
}

TEST(CapacityDecision, AFootprintThatFitsProvesMoreOnlyBeyondItsOwnSlackWhereWalksMissAll) {
  const SizeView fits{kSize + 300, {kSize - 200, kSize + 400}};
  CapacityEvidence evidence = evidence_of_sm(0);
  follow(evidence, {.fits = fits});
  EXPECT_EQ(decided(evidence).method, "resident_backwards");

  evidence = evidence_of_sm(0.3);
  follow(evidence, {.fits = fits});
  EXPECT_EQ(decided(evidence).method, "largest_fitting_footprint") << "reading backwards is a lower bound then";

  evidence = evidence_of_sm(0);
  follow(evidence, {.fits = {kSize + 2000, {kSize + 1500, kSize + 2100}}, .sampled = {sample_of(kSize, 500)}});
  EXPECT_EQ(decided(evidence).method, "largest_fitting_footprint");
  EXPECT_EQ(decided(evidence).bytes, kSize + 2000);
}

TEST(CapacityDecision, BehindAnotherCacheWhatFitsMayFitInBoth) {
  CapacityEvidence evidence = evidence_of_sm(0);
  evidence.is_behind = true;
  follow(evidence, {.fits = view(1.5 * kSize)});
  const Capacity found = decided(evidence);
  EXPECT_EQ(found.method, "resident_backwards");
  EXPECT_EQ(found.bytes, kSize);
  EXPECT_EQ(found.first_miss_bytes, 1.5 * kSize);
}

// Two caches with random replacement: the nearer one may still hold lines that the farther one evicted.
TEST(CapacityDecision, BehindAnotherCacheReadingBackwardsFindsTooMuchWhereChanceDecidesWhatStays) {
  Answers answers{.resident = view(1.1 * kSize), .sampled = {sample_of(kSize, 300)}};
  answers.resident.by_chance = true;
  CapacityEvidence behind = evidence_of_sm(0);
  behind.is_behind = true;
  EXPECT_THAT(follow(behind, answers), SizeIs(4)) << "lines that fit, packed ones and one full sample";
  const Decision<Capacity> found = decide_capacity(behind);
  ASSERT_TRUE(found.value);
  EXPECT_EQ(found.value->method, "sampled_residency");
  EXPECT_NEAR(found.value->bytes, kSize, kLine);

  CapacityEvidence nearest = evidence_of_sm(0);
  follow(nearest, answers);
  EXPECT_EQ(decide_capacity(nearest).value->method, "resident_backwards") << "a lower bound: nothing else can hold it";
}

TEST(CapacityDecision, WhatIsOldAndStillResidentTellsThatReadingBackwardsIsNotExact) {
  CapacityEvidence evidence = evidence_of_sm(0);
  evidence.is_behind = true;
  const std::vector<Look> looks = follow(
      evidence,
      {.resident = view(0.7 * kSize), .sampled = {sample_of(0.7 * kSize, 500, 0.1), sample_of(kSize, 200, 0.1)}});
  EXPECT_THAT(views_of(looks), ElementsAre(CapacityMethod::kResident, CapacityMethod::kFits, CapacityMethod::kSampled,
                                           CapacityMethod::kSampled));
  EXPECT_EQ(looks.back().samples, 270000u);
  const Capacity found = decided(evidence);
  EXPECT_EQ(found.method, "sampled_residency");
  EXPECT_EQ(found.bytes, kSize);
}

TEST(CapacityDecision, SpacesWithALimitAreSampledAsFarAsTheyGo) {
  CapacityEvidence evidence = evidence_of_sm(0);
  evidence.limit_bytes = 1.75 * kSize;
  EXPECT_EQ(follow(evidence, {}).back().capacities, 1.75);

  evidence = evidence_of_sm(0.3);
  evidence.limit_bytes = 1.25 * kSize;
  EXPECT_THAT(views_of(follow(evidence, {})), ElementsAre(CapacityMethod::kResident, CapacityMethod::kFits));
  EXPECT_EQ(decided(evidence).sampled_bytes, 0);
}

TEST(CapacityDecision, SaysWhyNothingIsKnownWhereNoArrayIsLargeEnough) {
  CapacityEvidence evidence = evidence_of_sm(0);
  evidence.limit_bytes = 1.25 * kSize;
  follow(evidence, {.resident = view(0, false), .fits = view(0)});
  const Decision<Capacity> decision = decide_capacity(evidence);
  EXPECT_FALSE(decision.value);
  EXPECT_THAT(decision.why_not, HasSubstr("footprints up to 65536 B fit"));
}

// A constant cache between half of the constants that a program may have and all of them.
TEST(CapacityDecision, WhereLittleMoreFitsTheSpaceTwoViewsMustAgree) {
  const auto evidence_of = [](double resident, double fits) {
    CapacityEvidence evidence = evidence_of_sm(0);
    evidence.is_behind = true;
    evidence.limit_bytes = 1.25 * kSize;
    follow(evidence, {.resident = view(resident), .fits = view(fits)});
    return evidence;
  };
  EXPECT_EQ(decided(evidence_of(kSize, kSize)).bytes, kSize);
  EXPECT_EQ(decided(evidence_of(kSize, kSize)).method, "resident_backwards");
  EXPECT_FALSE(decide_capacity(evidence_of(kSize, 0.8 * kSize)).value) << "hashed: the sets are not all full";
  EXPECT_FALSE(decide_capacity(evidence_of(0.9 * kSize, kSize)).value) << "the oldest is not what goes";
  EXPECT_FALSE(decide_capacity(evidence_of(1.25 * kSize, 1.25 * kSize)).value) << "nothing was too much";
}

TEST(CapacityDecision, ASampleThatTellsNothingMattersWhereNoViewIsExact) {
  const Answers answers{.sampled = {}, .not_sampled = "the nearer cache holds nearly all loaded lines"};
  CapacityEvidence evidence = evidence_of_sm(0);
  EXPECT_THAT(views_of(follow(evidence, answers)),
              ElementsAre(CapacityMethod::kResident, CapacityMethod::kFits, CapacityMethod::kSampled));
  EXPECT_EQ(decided(evidence).method, "resident_backwards");
  EXPECT_EQ(decided(evidence).sampled_bytes, 0);

  evidence = evidence_of_sm(0.3);
  follow(evidence, answers);
  EXPECT_EQ(decide_capacity(evidence).why_not, answers.not_sampled);

  // The second look, after the first showed that reading backwards is not exact.
  evidence = evidence_of_sm(0);
  follow(evidence, {.sampled = {sample_of(kSize, 500, 0.1)}, .not_sampled = answers.not_sampled});
  EXPECT_EQ(decide_capacity(evidence).why_not, answers.not_sampled);
}

TEST(CapacityDecision, WhatSmsShareIsNotWalkedAndSampledAtTwiceItsSize) {
  CapacityEvidence evidence = evidence_of_sm(0.3);
  evidence.is_shared = true;
  const std::vector<Look> looks = follow(evidence, {});
  EXPECT_THAT(views_of(looks), ElementsAre(CapacityMethod::kResident, CapacityMethod::kSampled));
  EXPECT_EQ(looks.back().capacities, 2);
  EXPECT_EQ(looks.back().samples, 12000u);

  evidence = evidence_of_sm(0.3);
  evidence.is_shared = true;
  EXPECT_EQ(follow(evidence, {.resident = view(kSize, false)})[1].capacities, 8) << "it still grew";

  evidence = evidence_of_sm(0.3);
  evidence.is_shared = true;
  const std::vector<Look> unread = follow(evidence, {.resident = view(0, false), .sampled = {sample_of(kSize, 100)}});
  EXPECT_THAT(views_of(unread),
              ElementsAre(CapacityMethod::kResident, CapacityMethod::kPacked, CapacityMethod::kSampled));
  EXPECT_EQ(unread.back().samples, 270000u) << "too long to be read back";
  EXPECT_EQ(decided(evidence).bytes, kSize);
}

TEST(CapacityDecision, WhatIsLeftToChanceIsSampledAtFourTimesItsSize) {
  CapacityEvidence evidence = evidence_of_sm(0.3);
  evidence.is_shared = true;
  SizeView unread = view(0, false);
  unread.by_chance = true;
  const std::vector<Look> looks = follow(evidence, {.resident = unread, .sampled = {sample_of(kSize, 100)}});
  EXPECT_THAT(views_of(looks), ElementsAre(CapacityMethod::kResident, CapacityMethod::kSampled)) << "nothing is packed";
  EXPECT_EQ(looks.back().capacities, 4);
  EXPECT_EQ(looks.back().samples, 270000u);
  EXPECT_EQ(decided(evidence).method, "sampled_residency");
  EXPECT_EQ(decided(evidence).bytes, kSize);
}

// An L2 whose far hits are as slow as loads from near memory.
CapacityEvidence evidence_of_l2_over_near_memory() {
  CapacityEvidence evidence = evidence_of_sm(0.3);
  evidence.is_shared = true;
  evidence.has_far_part = true;
  evidence.cold_hits = 0.4;
  evidence.guess_bytes = 100'000 * kLine;
  return evidence;
}

TEST(CapacityDecision, WhereMemoryHidesAmongFarHitsItsClearLoadsDecide) {
  const double bytes = 90'000 * kLine;
  CapacityEvidence evidence = evidence_of_l2_over_near_memory();
  const MemoryLoads memory{.distinguishable_part = 0.6, .capacity = {bytes, {0.95 * bytes, 1.05 * bytes}}};
  EXPECT_THAT(views_of(follow(evidence, {.memory = memory})), ElementsAre(CapacityMethod::kMemoryLoads));
  const Capacity found = decided(evidence);
  EXPECT_EQ(found.method, "clear_memory_loads");
  EXPECT_EQ(found.bytes, bytes);
  EXPECT_EQ(found.resident_bytes, 0);
}

TEST(CapacityDecision, WhereTheirLineDoesNotExplainAllTheOtherViewsDo) {
  const double bytes = 90'000 * kLine;
  const Answers scattered{.resident = view(bytes),
                          .sampled = {sample_of(bytes, 100)},
                          .memory = {.distinguishable_part = 0.6, .capacity = {bytes, {0.8 * bytes, 1.2 * bytes}}}};
  CapacityEvidence evidence = evidence_of_l2_over_near_memory();
  EXPECT_THAT(views_of(follow(evidence, scattered)),
              ElementsAre(CapacityMethod::kMemoryLoads, CapacityMethod::kResident, CapacityMethod::kSampled));
  EXPECT_EQ(decided(evidence).method, "resident_backwards");

  evidence = evidence_of_l2_over_near_memory();
  evidence.cold_hits = 0.05;
  EXPECT_THAT(views_of(follow(evidence, scattered)), ElementsAre(CapacityMethod::kResident, CapacityMethod::kSampled))
      << "nearly all memory loads can be told";
}

// Each program samples only some of the few lines, and no view resolves less than a line.
TEST(CapacityDecision, OfAFewLinesAFirstLookTakesFewSamples) {
  CapacityEvidence evidence = evidence_of_sm(0);
  evidence.guess_bytes = 32 * kLine;
  evidence.sweep = {{32 * kLine, 1}, {64 * kLine, 0}, {128 * kLine, 0}};
  const std::vector<Look> looks = follow(
      evidence, {.resident = view(32 * kLine), .fits = view(32 * kLine), .sampled = {sample_of(32 * kLine, kLine)}});
  EXPECT_EQ(looks.back().view, CapacityMethod::kSampled);
  EXPECT_EQ(looks.back().samples, 1920u);
}

TEST(CapacityDecision, WithoutASweepNothingIsTakenForLru) {
  CapacityEvidence evidence = evidence_of_sm(0);
  evidence.sweep.clear();
  const std::vector<Look> looks = follow(evidence, {});
  EXPECT_THAT(views_of(looks), ElementsAre(CapacityMethod::kResident, CapacityMethod::kFits, CapacityMethod::kPacked,
                                           CapacityMethod::kSampled));
  EXPECT_EQ(looks.back().samples, 270000u);
  EXPECT_EQ(decided(evidence).all_miss_bytes, 0);
}

}  // namespace
}  // namespace gputopo::probe
