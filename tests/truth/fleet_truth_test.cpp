// Fleets drawn from a seed: how often a clean fleet has a finding, and which faults are found.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "fleet/judgement.h"
#include "support/fleet_model.h"

namespace gputopo {
namespace {

using test::FleetFault;
using test::FleetModel;

constexpr std::int64_t kNow = 1900000000;

// The number of fleets, from GPUTOPO_FLEETS if it is set.
int fleets(int usual) {
  const char* wanted = std::getenv("GPUTOPO_FLEETS");
  return wanted == nullptr ? usual : std::atoi(wanted);
}

test::FleetShape shape_of(int fleet) {
  constexpr std::size_t kSizes[] = {16, 32, 64, 100};
  return {.gpus = kSizes[fleet % 4],
          .models = fleet % 5 == 0 ? 2u : 1u,
          .runs = fleet % 3 == 0 ? 3u : 1u,
          .has_links = fleet % 2 == 0};
}

// The number of clean fleets with a finding.
int alarms_of(int count, int first_seed, const std::function<test::FleetShape(int fleet)>& shape) {
  int alarms = 0;
  for (int fleet = 0; fleet < count; ++fleet) {
    FleetModel model(shape(fleet), static_cast<std::uint64_t>(fleet + first_seed));
    const fleet::Judgement judgement = fleet::judge(model.draw({}), kNow);
    if (judgement.findings.empty()) continue;
    ++alarms;
    std::printf("seed %d: %s\n", fleet + first_seed, judgement.findings.front().values.front().path.c_str());
  }
  return alarms;
}

// GPUTOPO_FLEETS=100 truth_tests --gtest_filter=FleetTruth.DISABLED_LargeCleanFleets --gtest_also_run_disabled_tests
TEST(FleetTruth, DISABLED_LargeCleanFleets) {
  const int count = fleets(40);
  const auto shape = [](int) { return test::FleetShape{.gpus = 1000, .has_links = true}; };
  std::printf("%d of %d clean fleets of 1,000 have a finding\n", alarms_of(count, 70001, shape), count);
}

TEST(FleetTruth, OnePercentOfCleanFleetsHasAFindingAtMost) {
  const int count = fleets(200);
  const int alarms = alarms_of(count, 10001, shape_of);
  // The seeds are fixed, so there is no allowance for chance: none of the 200 fleets has a finding.
  EXPECT_LE(alarms, count / 100) << "of " << count;
  RecordProperty("alarms", alarms);
}

// Sizes and distributions of the detection table in docs/fleet.md. GPUTOPO_FLEETS sets the number of fleets of each.
test::FleetShape uniform_shape(std::size_t gpus, test::Population population, double spread = 0) {
  return {.gpus = gpus, .has_links = true, .population = population, .spread = spread};
}

TEST(FleetTruth, OnePercentOfCleanFleetsOfEachSizeAndDistributionHasAFindingAtMost) {
  const int count = fleets(20);
  for (const std::size_t gpus : {2, 3, 8, 32}) {
    for (const test::Population population : test::kPopulations) {
      for (const double spread : {0.0, 0.007}) {
        const int alarms = alarms_of(count, 30001, [&](int) { return uniform_shape(gpus, population, spread); });
        EXPECT_LE(alarms, count / 100) << gpus << " GPUs, distribution " << static_cast<int>(population);
      }
    }
  }
}

// GPUTOPO_FLEETS=400 truth_tests --gtest_filter=FleetTruth.DISABLED_CleanFleetsOfEverySize
// --gtest_also_run_disabled_tests
TEST(FleetTruth, DISABLED_CleanFleetsOfEverySize) {
  const int count = fleets(40);
  for (const std::size_t gpus : {2, 3, 4, 5, 8, 12, 16, 24, 32, 48, 64, 100, 150, 300, 1000, 10000}) {
    std::string row = fmt::format("| {} |", gpus);
    for (const test::Population population : test::kPopulations) {
      row += fmt::format(" {} |", alarms_of(count, 30001, [&](int) { return uniform_shape(gpus, population); }));
    }
    std::puts(row.c_str());
    std::fflush(stdout);
  }
}

struct Power {
  int found = 0;
  int planted = 0;
  int others = 0;  // findings on GPUs without a fault
};

// A new fault is only in the last of five runs.
Power power_of(FleetFault fault, double deviations, std::size_t gpus, int count, bool is_new = false) {
  Power power;
  const bool has_past = is_new || fault == FleetFault::kDriftingClock;
  for (int fleet = 0; fleet < count; ++fleet) {
    FleetModel model({.gpus = gpus, .runs = has_past ? 5u : 1u, .has_links = true},
                     static_cast<std::uint64_t>(fleet) + 20001);
    std::vector<test::PlantedFault> faults;
    std::set<std::string> faulty;
    for (const std::size_t gpu : {gpus / 3, gpus / 2, gpus - 1}) {
      faults.push_back({gpu, fault, deviations, is_new});
      faulty.insert(model.gpu_id(gpu));
    }
    power.planted += static_cast<int>(faults.size());
    for (const fleet::Finding& finding : fleet::judge(model.draw(faults), kNow).findings) {
      ++(faulty.contains(finding.who.gpu) ? power.found : power.others);
    }
  }
  return power;
}

void expect_found(FleetFault fault, double deviations, std::size_t gpus, double least, bool is_new = false) {
  constexpr int kFleets = 2;
  const Power power = power_of(fault, deviations, gpus, kFleets, is_new);
  EXPECT_GE(power.found, least * power.planted) << "of " << power.planted;
  // Allows one false finding, and one more for every 20 planted faults.
  EXPECT_LE(power.others, 1 + power.planted / 20);
}

TEST(FleetTruth, FaultsOfAPartAreFound) {
  expect_found(FleetFault::kSlowMemory, 5, 1000, 0.8);
  expect_found(FleetFault::kThrottled, 3, 1000, 0.8);
  expect_found(FleetFault::kDriftingClock, 3, 200, 0.8);
}
TEST(FleetTruth, FaultsOfThreeDeviationsThatAreNewAreFoundAlways) {
  expect_found(FleetFault::kSlowMemory, 3, 200, 1, true);
  expect_found(FleetFault::kThrottled, 3, 200, 1, true);
}
TEST(FleetTruth, AHalfLinkIsFoundAlways) { expect_found(FleetFault::kHalfLink, 0, 200, 1); }
TEST(FleetTruth, AnL2OfFewerSlicesIsFoundAlways) { expect_found(FleetFault::kFewerSlices, 3, 200, 1); }

// One GPU whose values of a part, or one value, are worse by a fraction, among chips that spread by 0.7%.
Power power_of_fraction(FleetFault fault, double fraction, std::size_t gpus, test::Population population, int count) {
  Power power;
  for (int fleet = 0; fleet < count; ++fleet) {
    FleetModel model(uniform_shape(gpus, population, 0.007), static_cast<std::uint64_t>(fleet) + 40001);
    const std::size_t faulty = gpus / 3;
    ++power.planted;
    const test::PlantedFault planted{.gpu = faulty, .fault = fault, .fraction = fraction};
    for (const fleet::Finding& finding : fleet::judge(model.draw({planted}), kNow).findings) {
      ++(finding.who.gpu == model.gpu_id(faulty) ? power.found : power.others);
    }
  }
  return power;
}

TEST(FleetTruth, LargeFaultsAreFoundInSmallFleets) {
  struct Row {
    std::size_t gpus;
    FleetFault fault;
    double fraction;
  };
  for (const auto& [gpus, fault, fraction] :
       {Row{3, FleetFault::kSlowMemory, 0.5}, Row{3, FleetFault::kOneValue, 0.5}, Row{8, FleetFault::kSlowMemory, 0.15},
        Row{8, FleetFault::kOneValue, 0.15}, Row{16, FleetFault::kOneValue, 0.5}, Row{32, FleetFault::kOneValue, 0.5},
        Row{32, FleetFault::kSlowMemory, 0.05}}) {
    const Power power = power_of_fraction(fault, fraction, gpus, test::Population::kNormal, 20);
    EXPECT_EQ(power.found, power.planted) << gpus << " GPUs, " << fraction;
    EXPECT_EQ(power.others, 0) << gpus << " GPUs, " << fraction;
  }
}

// The detection table in docs/fleet.md, as LargeFaultsAreFoundInSmallFleets.
TEST(FleetTruth, DISABLED_PowerInSmallFleets) {
  const int count = fleets(50);
  for (const test::Population population : test::kPopulations) {
    for (const FleetFault fault : {FleetFault::kOneValue, FleetFault::kSlowMemory}) {
      for (const std::size_t gpus : {2, 3, 5, 8, 16, 32, 100, 300, 1000, 10000}) {
        std::string row = fmt::format("| {} | {} | {} |", static_cast<int>(population),
                                      fault == FleetFault::kOneValue ? "one value" : "memory", gpus);
        for (const double fraction : {0.03, 0.05, 0.1, 0.15, 0.3, 0.5}) {
          const int of_size = gpus < 1000 ? count : std::max(2, count / 10);
          const Power power = power_of_fraction(fault, fraction, gpus, population, of_size);
          row += fmt::format(" {:.0f}% |", 100.0 * power.found / power.planted);
        }
        std::puts(row.c_str());
        std::fflush(stdout);
      }
    }
  }
}

// The table in docs/fleet.md: GPUTOPO_FLEETS=20 truth_tests --gtest_filter=FleetTruth.DISABLED_Power
// --gtest_also_run_disabled_tests
TEST(FleetTruth, DISABLED_Power) {
  struct Row {
    const char* name;
    FleetFault fault;
    bool is_new = false;
  };
  const Row kRows[] = {{"slow memory", FleetFault::kSlowMemory},
                       {"throttled chip", FleetFault::kThrottled},
                       {"one value", FleetFault::kOneValue},
                       {"drifting clock", FleetFault::kDriftingClock},
                       {"slow memory, new", FleetFault::kSlowMemory, true},
                       {"throttled chip, new", FleetFault::kThrottled, true},
                       {"one value, new", FleetFault::kOneValue, true}};
  for (const auto& [name, fault, is_new] : kRows) {
    std::string row = fmt::format("| {} |", name);
    for (const double deviations : {3.0, 4.0, 5.0, 6.0, 8.0}) {
      const Power power = power_of(fault, deviations, 1000, fleets(10), is_new);
      row += fmt::format(" {:.0f}% |", 100.0 * power.found / power.planted);
    }
    std::puts(row.c_str());
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace gputopo
