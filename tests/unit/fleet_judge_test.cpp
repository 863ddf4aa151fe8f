// Outliers of a fleet, on fleets with known faults.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "fleet/findings.h"
#include "fleet/findings_html.h"
#include "fleet/findings_json.h"
#include "fleet/judgement.h"
#include "support/fleet_model.h"
#include "support/prometheus_check.h"

namespace gputopo::fleet {
namespace {

using test::FleetFault;
using test::FleetModel;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

constexpr std::int64_t kNow = 1900000000;

Judgement judged(const test::FleetShape& shape, const std::vector<test::PlantedFault>& faults) {
  return judge(FleetModel(shape, 11).draw(faults), kNow);
}

// A fleet whose readings `change` modifies.
template <typename Change>
Store store_of(std::size_t gpus, const Change& change) {
  Store store;
  for (std::size_t gpu = 0; gpu < gpus; ++gpu) {
    fleet::Run run{.gpu = "gpu" + std::to_string(gpu), .model = "A", .driver = "1", .timestamp = 1000};
    run.readings = {{.path = "compute.sm_count", .value = 132, .source = "api"},
                    {.path = "l2.index", .source = "measured", .text = "hashed"},
                    {.path = "device.ecc_enabled", .source = "api", .text = "yes"}};
    change(gpu, run);
    store.add(run);
  }
  return store;
}

const Finding* finding_of(const Judgement& judgement, const std::string& gpu) {
  const auto found = std::ranges::find_if(judgement.findings, [&](const Finding& one) { return one.who.gpu == gpu; });
  return found == judgement.findings.end() ? nullptr : &*found;
}

std::vector<std::string> paths_of(const Finding& finding) {
  std::vector<std::string> paths;
  for (const OutlierValue& value : finding.values) paths.push_back(value.path);
  return paths;
}

TEST(FleetJudge, ASlowMemoryIsOneFindingWithItsValues) {
  const Judgement judgement = judged({.gpus = 200}, {{.gpu = 17, .fault = FleetFault::kSlowMemory, .deviations = 8}});
  const Finding* finding = finding_of(judgement, "gpu00017");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(judgement.findings.size(), 1u);
  EXPECT_EQ(finding->where, "device memory: worse");
  EXPECT_EQ(finding->who.host, "host0002");
  EXPECT_THAT(paths_of(*finding), Contains("memory.device.read_bandwidth"));
  EXPECT_THAT(paths_of(*finding), Contains("memory.device.latency"));
  for (const OutlierValue& value : finding->values) EXPECT_EQ(value.worse, 1) << value.path;
}

TEST(FleetJudge, AThrottledChipIsSlowInItsRates) {
  const Judgement judgement = judged({.gpus = 200}, {{.gpu = 3, .fault = FleetFault::kThrottled, .deviations = 6}});
  const Finding* finding = finding_of(judgement, "gpu00003");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->where, "on-chip rates: worse");
}

TEST(FleetJudge, ALinkOfHalfItsWidthIsOff) {
  const Judgement judgement = judged({.gpus = 64, .has_links = true}, {{.gpu = 9, .fault = FleetFault::kHalfLink}});
  const Finding* finding = finding_of(judgement, "gpu00009");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->values.front().path, "link.gpu1-gpu2.copy_bandwidth");
  EXPECT_TRUE(finding->values.front().decides);
  EXPECT_NEAR(finding->values.front().value / finding->values.front().usual, 0.5, 0.05);
}

TEST(FleetJudge, AClockThatDriftsIsOffItsOwnPast) {
  const Judgement judgement = judged({.gpus = 100, .runs = 5}, {{5, FleetFault::kDriftingClock, 8}});
  const Finding* finding = finding_of(judgement, "gpu00005");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->where, "on-chip rates: worse than before");
  EXPECT_TRUE(
      std::ranges::any_of(finding->values, [](const OutlierValue& one) { return one.basis == Basis::kChange; }));
}

TEST(FleetJudge, ConstantsAreComparedExactlyInSmallGroupsToo) {
  const Store store = store_of(4, [](std::size_t gpu, fleet::Run& run) {
    if (gpu == 2) run.readings[0].value = 130;
    if (gpu == 3) run.readings[2].text = "no";
  });
  const Judgement judgement = judge(store, kNow);
  ASSERT_EQ(judgement.findings.size(), 2u);
  const Finding* finding = finding_of(judgement, "gpu2");
  ASSERT_NE(finding, nullptr);
  EXPECT_EQ(finding->values.front().basis, Basis::kExact);
  EXPECT_EQ(describe(finding->values.front()), "130, usually 132 (-1.5%)");
  EXPECT_EQ(describe(finding_of(judgement, "gpu3")->values.front()), "no, usually yes");
  EXPECT_THAT(judgement.groups.front().note, HasSubstr("values that must be equal"));
}

TEST(FleetJudge, OfTwoGpusNothingCanBeSaid) {
  const Judgement judgement = judge(store_of(2,
                                             [](std::size_t gpu, fleet::Run& run) {
                                               if (gpu == 1) run.readings[0].value = 130;
                                             }),
                                    kNow);
  EXPECT_TRUE(judgement.findings.empty());
  EXPECT_EQ(judgement.groups.front().note, "too few GPUs to compare");
  EXPECT_EQ(judgement.outcome(), Outcome::kNotJudged);
  EXPECT_EQ(judgement.gpus_not_judged, 2u);
}

TEST(FleetJudge, WhatHalfOfTheGpusHaveIsNoFault) {
  const Judgement judgement = judge(store_of(20,
                                             [](std::size_t gpu, fleet::Run& run) {
                                               if (gpu % 2 == 1) run.readings[0].value = 130;
                                             }),
                                    kNow);
  EXPECT_TRUE(judgement.findings.empty());
}

TEST(FleetJudge, AMeasuredWayOfWorkingThatDiffersIsANote) {
  const Judgement judgement = judge(store_of(20,
                                             [](std::size_t gpu, fleet::Run& run) {
                                               if (gpu == 4) run.readings[1].text = "modulo";
                                             }),
                                    kNow);
  EXPECT_TRUE(judgement.findings.empty());
  EXPECT_THAT(judgement.notes, Contains(HasSubstr("l2.index: the value on 1 of 20")));
}

TEST(FleetJudge, ACacheOfHalfTheSizeIsAFaultAndASlightlySmallerOneANote) {
  for (const std::size_t gpus : {std::size_t{3}, std::size_t{200}}) {
    for (const double size : {120e3, 230e3}) {
      const Judgement judgement = judge(store_of(gpus,
                                                 [&](std::size_t gpu, fleet::Run& run) {
                                                   const double value = gpu == 1 ? size : 240e3;
                                                   run.readings.push_back({.path = "l1.size",
                                                                           .value = value,
                                                                           .low = value - 100,
                                                                           .high = value + 100,
                                                                           .unit = "B",
                                                                           .source = "measured"});
                                                 }),
                                        kNow);
      EXPECT_EQ(judgement.findings.size(), size < 200e3 ? 1u : 0u) << gpus << " GPUs, " << size << " B";
      EXPECT_EQ(judgement.notes.empty(), size < 200e3);
    }
  }
}

TEST(FleetJudge, OneGpuWithHalfTheMemoryBandwidthIsFoundInEverySize) {
  for (const std::size_t gpus : {3, 4, 8, 16, 32, 100, 300}) {
    const Judgement judgement = judge(store_of(gpus,
                                               [](std::size_t gpu, fleet::Run& run) {
                                                 for (const char* name : {"read_bandwidth", "write_bandwidth"}) {
                                                   // Spread like a sample of 0.7%.
                                                   const double off =
                                                       0.7e-2 * std::sin(static_cast<double>(7 * gpu + 3));
                                                   run.readings.push_back({.path = std::string("memory.device.") + name,
                                                                           .value = 4e12 * (gpu == 1 ? 0.5 : 1 + off),
                                                                           .unit = "B/s",
                                                                           .source = "measured"});
                                                 }
                                               }),
                                      kNow);
    ASSERT_EQ(judgement.findings.size(), 1u) << gpus;
    EXPECT_EQ(judgement.findings.front().who.gpu, "gpu1");
    EXPECT_EQ(judgement.outcome(), Outcome::kBad);
  }
}

// Bandwidths of the memory and the L2 of GPUs that differ as a sample of 0.7% does, times `factor`.
template <typename Factor>
Judgement judge_bandwidths(std::size_t gpus, const Factor& factor) {
  return judge(
      store_of(gpus,
               [&](std::size_t gpu, fleet::Run& run) {
                 const double off = 0.7e-2 * std::sin(static_cast<double>(7 * gpu + 3));
                 for (const char* path : {"memory.device.read_bandwidth", "memory.device.write_bandwidth"}) {
                   if (std::isnan(factor(gpu))) continue;
                   run.readings.push_back(
                       {.path = path, .value = 4e12 * (1 + off) * factor(gpu), .unit = "B/s", .source = "measured"});
                 }
               }),
      kNow);
}

std::vector<std::string> gpus_of(const std::vector<Finding>& findings) {
  std::vector<std::string> gpus;
  for (const Finding& finding : findings) gpus.push_back(finding.who.gpu);
  return gpus;
}

// Too small to be found by its size alone.
TEST(FleetJudge, AValueIsAnOutlierOnEitherSide) {
  for (const char* path : {"l2.latency", "memory.device.read_bandwidth"}) {
    for (const double off : {-0.08, 0.08}) {
      const Judgement judgement =
          judge(store_of(200,
                         [&](std::size_t gpu, fleet::Run& run) {
                           const double spread = 0.5e-2 * std::sin(static_cast<double>(7 * gpu + 3));
                           run.readings.push_back({.path = path,
                                                   .value = 100 * (1 + (gpu == 11 ? off : spread)),
                                                   .unit = "B/s",
                                                   .source = "measured"});
                         }),
                kNow);
      EXPECT_THAT(gpus_of(judgement.findings), ElementsAre("gpu11")) << path << " " << off;
    }
  }
}

TEST(FleetJudge, AFaultOfSeveralGpusDoesNotHideItself) {
  for (const std::size_t gpus : {7, 8, 16, 32}) {
    const Judgement judgement = judge_bandwidths(gpus, [](std::size_t gpu) { return gpu == 1 || gpu == 4 ? 0.5 : 1; });
    EXPECT_THAT(gpus_of(judgement.findings), UnorderedElementsAre("gpu1", "gpu4")) << gpus;
  }
}

TEST(FleetJudge, OfTwoHalvesThatDifferNeitherIsGood) {
  for (const std::size_t gpus : {2, 4, 8, 20}) {
    const Judgement judgement = judge_bandwidths(gpus, [](std::size_t gpu) { return gpu % 2 == 0 ? 0.5 : 1; });
    EXPECT_NE(judgement.outcome(), Outcome::kGood) << gpus;
    EXPECT_EQ(judgement.gpus_not_judged, gpus);
    EXPECT_THAT(findings_to_text(judgement, {.width = 200}, false), HasSubstr("GPUs of its model have"));
  }
}

TEST(FleetJudge, ARateOfZeroIsAFault) {
  for (const std::size_t gpus : {3, 8, 40}) {
    const Judgement judgement = judge_bandwidths(gpus, [](std::size_t gpu) { return gpu == 2 ? 0 : 1; });
    EXPECT_THAT(gpus_of(judgement.findings), ElementsAre("gpu2")) << gpus;
  }
}

TEST(FleetJudge, AGpuWithoutTheBandwidthOfItsMemoryIsNotJudged) {
  const Judgement judgement = judge_bandwidths(8, [](std::size_t gpu) { return gpu == 5 ? NAN : 1; });
  EXPECT_EQ(judgement.outcome(), Outcome::kNotJudged);
  ASSERT_EQ(judgement.not_judged.size(), 1u);
  EXPECT_EQ(judgement.not_judged.front().who.gpu, "gpu5");
  EXPECT_THAT(judgement.not_judged.front().text, HasSubstr("lacks 2 of 5 values"));
}

// Nights of hosts of four GPUs each. `is_there` says whether a run exists.
template <typename IsThere>
Judgement nights(std::size_t hosts, std::int64_t count, const IsThere& is_there) {
  constexpr std::int64_t kNight = 86400;
  Store store;
  for (std::int64_t night = 0; night < count; ++night) {
    for (std::size_t gpu = 0; gpu < 4 * hosts; ++gpu) {
      if (!is_there(gpu, night)) continue;
      fleet::Run run{.host = "host" + std::to_string(gpu / 4),
                     .gpu = "gpu" + std::to_string(gpu),
                     .model = "A",
                     .driver = "1",
                     .timestamp = kNow - (count - night) * kNight};
      run.readings = {{.path = "compute.sm_count", .value = 132, .source = "api"}};
      store.add(run);
    }
  }
  return judge(store, kNow);
}

TEST(FleetJudge, AGpuThatTheNewestRunOfItsHostLacksIsMissing) {
  const Judgement judgement = nights(2, 2, [](std::size_t gpu, std::int64_t night) { return gpu != 3 || night == 0; });
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_EQ(judgement.findings.front().who.gpu, "gpu3");
  EXPECT_THAT(describe(judgement.findings.front().values.front()),
              HasSubstr("missing from its host; last seen 2030-03-"));
}

TEST(FleetJudge, AReplacedOrRetiredGpuIsNotMissing) {
  const auto replaced = [](std::size_t gpu, std::int64_t night) {
    return gpu == 3 ? night == 0 : gpu == 2 ? night == 1 : true;
  };
  EXPECT_TRUE(nights(2, 2, replaced).findings.empty());
  const auto retired = [](std::size_t gpu, std::int64_t night) { return gpu != 3 || night == 0; };
  EXPECT_TRUE(nights(2, 40, retired).findings.empty());
}

TEST(FleetJudge, AHostThatMostOthersOutlastIsMissing) {
  const Judgement judgement =
      nights(3, 3, [](std::size_t gpu, std::int64_t night) { return gpu / 4 != 1 || night < 2; });
  EXPECT_EQ(judgement.findings.size(), 4u);
  EXPECT_THAT(describe(judgement.findings.front().values.front()), HasSubstr("its host was not measured"));
  // Half of the hosts are missing, too. If most are gone, the few that are left may have been measured in addition.
  const auto first_of = [](std::size_t hosts) {
    return [hosts](std::size_t gpu, std::int64_t night) { return gpu / 4 < hosts || night < 2; };
  };
  EXPECT_EQ(nights(4, 3, first_of(2)).findings.size(), 8u);
  EXPECT_EQ(nights(8, 3, first_of(1)).outcome(), Outcome::kNotJudged);
  // Hosts that are measured in turn are all there.
  const auto in_turn = [](std::size_t gpu, std::int64_t night) {
    return static_cast<std::int64_t>(gpu / 4) == night % 4;
  };
  EXPECT_TRUE(nights(4, 8, in_turn).findings.empty());
}

// Reports that name no host.
TEST(FleetJudge, AGpuWithoutAHostIsMissedAndUndatedRunsAreNotJudged) {
  constexpr std::int64_t kNoRun = -1;
  const auto judged_nights = [&](const auto& time_of) {
    Store store;
    for (const std::int64_t night : {0, 1}) {
      for (std::size_t gpu = 0; gpu < 8; ++gpu) {
        fleet::Run run{.gpu = "gpu" + std::to_string(gpu), .model = "A", .driver = "1"};
        run.readings = {{.path = "compute.sm_count", .value = 132, .source = "api"}};
        run.timestamp = time_of(gpu, night);
        if (run.timestamp != kNoRun) store.add(run);
      }
    }
    return judge(store, kNow);
  };
  using Time = std::optional<std::int64_t>;
  const auto nightly = [](std::int64_t night) { return kNow - (2 - night) * 86400; };
  const auto with_second = [&](Time of_second) {
    return judged_nights([&, of_second](std::size_t gpu, std::int64_t night) {
      return gpu == 3 && night == 1 ? of_second : Time(nightly(night));
    });
  };
  EXPECT_THAT(gpus_of(with_second(kNoRun).findings), ElementsAre("gpu3"));
  EXPECT_EQ(with_second(nightly(1)).outcome(), Outcome::kGood);
  EXPECT_NE(with_second(std::nullopt).outcome(), Outcome::kGood);
  EXPECT_EQ(with_second(kNow + 864000).outcome(), Outcome::kNotJudged);
}

TEST(FleetJudge, ALoneGpuWithAHealthyLinkIsJudgedAndOneWithASlowLinkIsBad) {
  for (const Outcome outcome : {Outcome::kGood, Outcome::kBad, Outcome::kNotJudged}) {
    const Judgement judgement = judge(store_of(1,
                                               [&](std::size_t, fleet::Run& run) {
                                                 run.readings.push_back({.path = "link.host0-gpu0.verdict",
                                                                         .source = std::string(to_string(outcome)),
                                                                         .text = "30% of PCIe 5.0 x16"});
                                               }),
                                      kNow);
    EXPECT_EQ(judgement.links, outcome == Outcome::kNotJudged ? 0u : 1u);
    EXPECT_EQ(judgement.outcome(), outcome);
  }
}

TEST(FleetJudge, WhatCouldNotBeFoundOutOnOneGpuIsSaid) {
  const Judgement judgement = judge(
      store_of(20,
               [](std::size_t gpu, fleet::Run& run) {
                 if (gpu == 4)
                   run.readings[0] = {.path = "compute.sm_count", .source = "unavailable", .reason = "device_error"};
               }),
      kNow);
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_EQ(describe(judgement.findings.front().values.front()), "not available: device_error, usually available");
}

TEST(FleetJudge, ModelsDriversAndInstancesAreKeptApart) {
  const Store store = store_of(40, [](std::size_t gpu, fleet::Run& run) {
    run.model = gpu < 10 ? "A" : "B";
    run.driver = gpu < 20 ? "1" : "2";
    run.profile = gpu < 30 ? "" : "1g.10gb";
    run.readings[0].value = gpu < 10 ? 100 : gpu < 30 ? 132 : 16;
  });
  const Judgement judgement = judge(store, kNow);
  EXPECT_TRUE(judgement.findings.empty());
  EXPECT_EQ(judgement.groups.size(), 4u);
  EXPECT_THAT(judgement.notes, Contains(HasSubstr("2 models")));
  EXPECT_THAT(judgement.notes, Contains(HasSubstr("B has 2 drivers")));
  EXPECT_THAT(judgement.notes, Contains(HasSubstr("10 of the GPUs are MIG instances")));
}

TEST(FleetJudge, TheLatestRunCounts) {
  Store store;
  for (const std::int64_t time : {2000, 1000}) {
    for (std::size_t gpu = 0; gpu < 10; ++gpu) {
      fleet::Run run{.gpu = "gpu" + std::to_string(gpu), .model = "A", .driver = "1", .timestamp = time};
      // It had fewer SMs in an earlier run and has all of them now.
      run.readings = {{.path = "compute.sm_count", .value = gpu == 1 && time == 1000 ? 130.0 : 132.0, .source = "api"}};
      store.add(run);
    }
  }
  const Judgement judgement = judge(store, kNow);
  EXPECT_TRUE(judgement.findings.empty());
  EXPECT_EQ(judgement.runs, 20u);
  EXPECT_EQ(judgement.gpus, 10u);
  EXPECT_EQ(judgement.groups.front().with_history, 10u);
}

TEST(FleetJudge, ClocksThatDifferAreSaid) {
  const Store store = store_of(10, [](std::size_t gpu, fleet::Run& run) {
    run.timestamp = kNow - 10;
    if (gpu == 1) run.timestamp = kNow + 100000;
    if (gpu == 2) run.timestamp.reset();
    if (gpu == 3) run.timestamp = kNow - 30 * 86400;
  });
  const Judgement judgement = judge(store, kNow);
  EXPECT_THAT(judgement.notes, Contains(HasSubstr("1 GPU: the run is dated more than an hour in the future")));
  EXPECT_THAT(judgement.notes, Contains(HasSubstr("1 GPU: the run has no timestamp")));
  EXPECT_THAT(judgement.notes, Contains(HasSubstr("1 GPU: last measured more than a week")));
}

TEST(FleetFindings, EveryFormatHasTheOddGpu) {
  const Judgement judgement = judged({.gpus = 100, .has_links = true}, {{7, FleetFault::kSlowMemory, 10}});
  ASSERT_EQ(judgement.findings.size(), 1u);
  for (const std::string& text :
       {findings_to_text(judgement, {}, true), findings_to_csv(judgement), findings_to_json(judgement),
        findings_to_prometheus(judgement), findings_to_html(judgement)}) {
    EXPECT_THAT(text, HasSubstr("gpu00007"));
    EXPECT_THAT(text, HasSubstr("device memory: worse"));
  }
  EXPECT_EQ(test::prometheus_problem(findings_to_prometheus(judgement)), std::nullopt);
  EXPECT_THAT(findings_to_prometheus(judgement), HasSubstr("\ngputopo_fleet_ok 0\n"));
  EXPECT_THAT(findings_to_html(judgement), HasSubstr("SIMULATED"));
  // The page shows every compared value, outlier or not.
  const Finding& finding = judgement.findings.front();
  EXPECT_EQ(finding.values.size() + finding.others.size(), judgement.groups.front().values);
  EXPECT_THAT(findings_to_html(judgement), HasSubstr("<td>instructions.mul.s32.latency</td>"));
  EXPECT_THAT(findings_to_text(judgement, {}, false), HasSubstr("SIMULATED"));
}

TEST(FleetFindings, NothingOddIsSaidInEveryFormat) {
  const Judgement judgement = judge(store_of(10, [](std::size_t, fleet::Run&) {}), kNow);
  EXPECT_THAT(findings_to_text(judgement, {}, false), HasSubstr("ok: 10 GPUs, 10 runs, 1 group: no outliers"));
  EXPECT_THAT(findings_to_prometheus(judgement), HasSubstr("\ngputopo_fleet_ok 1\n"));
  EXPECT_THAT(findings_to_json(judgement), HasSubstr("\"ok\": true"));
  EXPECT_THAT(findings_to_html(judgement), HasSubstr("<p>None.</p>"));
  EXPECT_EQ(std::ranges::count(findings_to_csv(judgement), '\n'), 1);
}

TEST(FleetFindings, StrangeTextsAreHarmless) {
  const Store store = store_of(10, [](std::size_t gpu, fleet::Run& run) {
    run.model = "<script>\x1b[31m\"=1+1";
    run.name = gpu == 1 ? "=cmd|'/c'!A1<b>\n" : "";
    if (gpu == 1) run.readings[0].value = 1;
  });
  const Judgement judgement = judge(store, kNow);
  ASSERT_EQ(judgement.findings.size(), 1u);
  EXPECT_THAT(findings_to_html(judgement), testing::Not(HasSubstr("<script>")));
  EXPECT_THAT(findings_to_text(judgement, {}, false), testing::Not(HasSubstr("\x1b")));
  EXPECT_THAT(findings_to_csv(judgement), HasSubstr("'=cmd"));
  EXPECT_EQ(test::prometheus_problem(findings_to_prometheus(judgement)), std::nullopt);
}

// The page of a large fleet stays small.
TEST(FleetFindings, APageOfManyGpusIsSmall) {
  const Judgement judgement = judged({.gpus = 400, .models = 2}, {});
  EXPECT_LT(findings_to_html(judgement).size(), 600'000u);
}

}  // namespace
}  // namespace gputopo::fleet
