// The largest footprint that fits, from the misses of footprints.
#include "probe/capacity/fitting_footprint_decision.h"

#include <gtest/gtest.h>

#include <functional>

namespace gputopo::probe {
namespace {

constexpr std::uint64_t kStride = 32;

// The search over a cache with the given misses for each footprint.
SizeView searched(std::uint64_t fits, std::uint64_t exceeds, const std::function<double(std::uint64_t)>& misses,
                  double noise = 0, double loads = 8192) {
  FittingSearch search(fits, exceeds, kStride, noise);
  for (int round = 0; round < 20; ++round) {
    std::vector<FootprintMisses> footprints;
    for (const std::uint64_t bytes : search.next_footprints()) footprints.push_back({bytes, misses(bytes), loads});
    if (footprints.empty()) return search.found();
    search.add(footprints);
  }
  ADD_FAILURE() << "no end";
  return search.found();
}

TEST(FittingFootprint, AStepIsFoundToTheStride) {
  const SizeView found = searched(16384, 32768, [](std::uint64_t bytes) { return bytes > 20000 ? 0.5 : 0.0; });
  EXPECT_EQ(found.bytes, 20000 / kStride * kStride);
  EXPECT_EQ(found.interval.high, found.bytes + kStride);
  EXPECT_NEAR(found.interval.low, found.bytes * (1 - 0.008), 1e-6);
}

TEST(FittingFootprint, ARampBeginsWithItsFirstClearMisses) {
  const SizeView found = searched(16384, 65536, [](std::uint64_t bytes) {
    return bytes < 20000 ? 0.0 : static_cast<double>(bytes - 20000) / 40000;
  });
  EXPECT_GE(found.bytes, 20000 - kStride);
  EXPECT_LE(found.bytes, 20000 + 0.004 * 40000);
}

TEST(FittingFootprint, NothingFitsOrAllDoes) {
  EXPECT_EQ(searched(1024, 2048, [](std::uint64_t) { return 1.0; }).bytes, 1024);
  const SizeView all = searched(1024, 2048, [](std::uint64_t) { return 0.0; });
  EXPECT_EQ(all.bytes, 2048 - kStride);
  EXPECT_EQ(all.interval.high, 2048);
  EXPECT_EQ(searched(1024, 1024 + kStride, [](std::uint64_t) { return 0.0; }).bytes, 1024) << "nothing between";
}

TEST(FittingFootprint, AMissOrTwoBeyondTheNoiseDoesNotFit) {
  EXPECT_FALSE(misses_beyond_noise({1024, 0, 4096}, 0));
  EXPECT_FALSE(misses_beyond_noise({1024, 1.0 / 4096, 4096}, 0)) << "an outlier";
  EXPECT_TRUE(misses_beyond_noise({1024, 6.0 / 4096, 4096}, 0));
  EXPECT_FALSE(misses_beyond_noise({1024, 0.012, 8192}, 0.01)) << "within the spread of the noise";
  EXPECT_TRUE(misses_beyond_noise({1024, 0.0145, 8192}, 0.01)) << "however noisy, the tolerance is a bound";
  EXPECT_FALSE(misses_beyond_noise({1024, 0.0135, 64}, 0.01)) << "few loads have a wide spread, up to the tolerance";
}

TEST(FittingFootprint, ExceedingIsTheSecondBeyondWhatFits) {
  const std::vector<std::uint64_t> survey = {1000, 2000, 4000, 8000};
  EXPECT_EQ(exceeding_footprint(survey, 1000, kStride), 4000);
  EXPECT_EQ(exceeding_footprint(survey, 2000, kStride), 8000);
  EXPECT_EQ(exceeding_footprint(survey, 4000, kStride), 8000) << "twice what fits: one beyond only";
  EXPECT_EQ(exceeding_footprint(survey, 500, kStride), 2016) << "whole strides";
  EXPECT_EQ(exceeding_footprint({}, 512, kStride), 1024);
}

}  // namespace
}  // namespace gputopo::probe
