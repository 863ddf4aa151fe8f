// When a TLB level that no sweep showed is absent.
#include <gtest/gtest.h>

#include "probe/tlb/level_values.h"

namespace gputopo::probe {
namespace {

constexpr std::uint64_t kGib = 1ull << 30;

TlbSurvey swept_gib(std::uint64_t gib, std::vector<double> reaches_gib) {
  TlbSurvey survey{.largest_bytes = gib * kGib, .memory_bytes = (gib + 1) * kGib, .most_pages = 16384};
  for (const double reach : reaches_gib) survey.levels.push_back({.last_fit_bytes = reach * kGib});
  return survey;
}

TEST(TlbAbsence, FirstLevelIsNoneWhereNoneReachesThatFar) {
  EXPECT_THROW((void)tlb_level(swept_gib(32, {}), 0), NotPresent);
  EXPECT_THROW((void)tlb_level(swept_gib(2, {}), 0), NotSupportedError);  // 512 entries of 32 MiB are 16 GiB
}

TEST(TlbAbsence, SecondLevelReachesFarBeyondTheFirst) {
  EXPECT_THROW((void)tlb_level(swept_gib(32, {0.001}), 1), NotPresent);
  EXPECT_THROW((void)tlb_level(swept_gib(32, {4}), 1), NotSupportedError);
  EXPECT_THROW((void)tlb_level(swept_gib(2, {}), 1), NotSupportedError);
}

TEST(TlbAbsence, SecondLevelMayHaveMoreEntriesThanThereWerePages) {
  // 16384 entries of 64 KiB reach 1 GiB.
  EXPECT_THROW((void)tlb_level(swept_gib(32, {0.003}), 1), NotSupportedError);
  TlbSurvey survey = swept_gib(32, {0.003});
  survey.most_pages *= 2;
  EXPECT_THROW((void)tlb_level(survey, 1), NotPresent);
}

TEST(TlbAbsence, ThirdLevelIsNone) { EXPECT_THROW((void)tlb_level(swept_gib(90, {0.5, 64}), 2), NotPresent); }

}  // namespace
}  // namespace gputopo::probe
