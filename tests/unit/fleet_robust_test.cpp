// One bad run in a GPU's past must not move the reference for its latest run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "fleet/judgement.h"
#include "support/fleet_model.h"

namespace gputopo::fleet {
namespace {

constexpr std::int64_t kAfterAllRuns = 1900000000;
constexpr const char* kChangedRate = "l2.read_bandwidth";

// A fleet in which `factor(gpu, run)` scales one rate.
template <typename Factor>
Store fleet_with(std::size_t gpus, std::size_t runs, std::uint64_t seed, const Factor& factor) {
  Store store;
  std::size_t count = 0;
  test::FleetModel({.gpus = gpus, .runs = runs}, seed).draw_runs({}, [&](fleet::Run run) {
    const auto rate = std::ranges::find(run.readings, kChangedRate, &Reading::path);
    for (double* number : {&rate->value, &rate->low, &rate->high}) *number *= factor(count / runs, count % runs);
    ++count;
    store.add(run);
  });
  return store;
}

// Whether a changed rate in one run of one GPU is found.
bool finds_change(std::uint64_t seed, std::size_t changed_run, double factor) {
  constexpr std::size_t kGpu = 7;
  const Store store = fleet_with(
      60, 6, seed, [&](std::size_t gpu, std::size_t run) { return gpu == kGpu && run == changed_run ? factor : 1.0; });
  const Judgement judgement = judge(store, kAfterAllRuns);
  return std::ranges::any_of(judgement.findings, [](const Finding& finding) {
    return std::ranges::any_of(finding.values, [](const OutlierValue& value) { return value.path == kChangedRate; });
  });
}

TEST(FleetRobust, ADisturbedRunOfThePastIsNoChange) {
  constexpr std::uint64_t kFleets = 4;
  std::size_t found = 0;
  for (std::uint64_t seed = 1; seed <= kFleets; ++seed) {
    SCOPED_TRACE(seed);
    const double factor = seed % 2 == 0 ? 0.5 : 2.0;
    EXPECT_FALSE(finds_change(seed, seed, factor));
    found += finds_change(seed, 5, factor) ? 1 : 0;
  }
  // The same change in the latest run is found, so this test can fail.
  EXPECT_GE(found, kFleets / 2);
}

}  // namespace
}  // namespace gputopo::fleet
