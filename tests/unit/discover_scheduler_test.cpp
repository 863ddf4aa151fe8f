// How a discovery continues if a step fails, needs another step, or ends the discovery.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/sim/machine_file.h"
#include "device/sim/sim_device.h"
#include "discover/measure/scheduler.h"

namespace gputopo {
namespace {

class SchedulerTest : public testing::Test {
 protected:
  // Makes a scheduler that measures with the function of the test and keeps its progress.
  [[nodiscard]] Scheduler make(Scheduler::Measure measure) {
    return Scheduler(session_, std::move(measure), [this](const Progress& progress) { progress_.push_back(progress); });
  }

  std::unique_ptr<Device> device_ = sim::make_sim_device(sim::parse_machine(*sim::builtin_machine("h200")), 1);
  probe::DeviceSession session_{*device_, {}};
  std::vector<Progress> progress_;
};

constexpr ElementId kOne = ElementId::kL1;
constexpr ElementId kOther = ElementId::kL2;
constexpr AttributeId kSizeAttribute = AttributeId::kSize;

TEST_F(SchedulerTest, EachStepRunsOnce) {
  int runs = 0;
  Scheduler scheduler = make([&](ElementId, AttributeId) { return ++runs, api_value(std::int64_t{7}, "B"); });
  EXPECT_EQ(scheduler.attribute(kOne, kSizeAttribute).number(), 7);
  EXPECT_EQ(scheduler.attribute(kOne, kSizeAttribute).number(), 7);
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(scheduler.timing().size(), 1u);
  EXPECT_EQ(scheduler.timing().front().probe, "l1.size");
}

TEST_F(SchedulerTest, AFailureCostsItsOwnAttributeOnly) {
  Scheduler scheduler = make([](ElementId element, AttributeId) -> Attribute {
    if (element == kOne) throw probe::Inconclusive("the samples do not decide");
    return api_value(std::int64_t{7}, "B");
  });
  EXPECT_EQ(scheduler.attribute(kOne, kSizeAttribute).reason, Reason::kInconclusive);
  EXPECT_EQ(scheduler.attribute(kOne, kSizeAttribute).detail, "the samples do not decide");
  EXPECT_TRUE(scheduler.attribute(kOther, kSizeAttribute).available());
  EXPECT_TRUE(scheduler.complete());
}

TEST_F(SchedulerTest, EveryFailureHasItsReason) {
  const auto reason_of = [&](auto error) {
    return make([&](ElementId, AttributeId) -> Attribute { throw error; }).attribute(kOne, kSizeAttribute).reason;
  };
  EXPECT_EQ(reason_of(probe::Stopped()), Reason::kInterrupted);
  EXPECT_EQ(reason_of(probe::OverBudget()), Reason::kTimedOut);
  EXPECT_EQ(reason_of(probe::Inconclusive("")), Reason::kInconclusive);
  EXPECT_EQ(reason_of(probe::NotPresent("")), Reason::kNotPresent);
  EXPECT_EQ(reason_of(NotSupportedError("")), Reason::kNotSupported);
  EXPECT_EQ(reason_of(probe::Disturbed("")), Reason::kDisturbed);
  EXPECT_EQ(reason_of(DeviceMemoryError("")), Reason::kDeviceError);
  EXPECT_EQ(reason_of(DeviceLostError("")), Reason::kDeviceError);
}

TEST_F(SchedulerTest, TheEndIsTheReasonOfAllThatFollow) {
  int runs = 0;
  Scheduler scheduler = make([&](ElementId, AttributeId) -> Attribute {
    ++runs;
    throw DeviceLostError("the device fell off");
  });
  EXPECT_EQ(scheduler.attribute(kOne, kSizeAttribute).reason, Reason::kDeviceError);
  EXPECT_EQ(scheduler.attribute(kOther, kSizeAttribute).detail, "the device fell off");
  EXPECT_EQ(runs, 1);
  EXPECT_FALSE(scheduler.complete());
  EXPECT_THAT(scheduler.warnings(), testing::ElementsAre("the device failed: the device fell off"));
}

TEST_F(SchedulerTest, AnEndWithinANeededStepIsTheReasonOfTheOuterOne) {
  Scheduler* running = nullptr;
  Scheduler scheduler = make([&](ElementId element, AttributeId) -> Attribute {
    if (element == kOther) throw probe::OverBudget();
    if (!running->attribute(kOther, kSizeAttribute).available())
      return unavailable(Reason::kDependency, "needs the other");
    return api_value(std::int64_t{7}, "B");
  });
  running = &scheduler;
  EXPECT_EQ(scheduler.attribute(kOne, kSizeAttribute).reason, Reason::kTimedOut);
}

TEST_F(SchedulerTest, WhatNeedsADisturbedOneIsDisturbedItself) {
  Scheduler* running = nullptr;
  Scheduler scheduler = make([&](ElementId element, AttributeId) -> Attribute {
    if (element == kOther) throw probe::Disturbed("others had the GPU");
    // Treats the other element as absent.
    if (!running->attribute(kOther, kSizeAttribute).available()) return api_value(std::int64_t{7}, "B");
    return api_value(std::int64_t{8}, "B");
  });
  running = &scheduler;
  EXPECT_EQ(scheduler.attribute(kOne, kSizeAttribute).reason, Reason::kDisturbed);
  EXPECT_EQ(scheduler.attribute(kOther, kSizeAttribute).detail, "others had the GPU");
  EXPECT_TRUE(scheduler.complete());
}

TEST_F(SchedulerTest, ACircularRequestIsNamedAndCostsItsOwnAttribute) {
  Scheduler* running = nullptr;
  Scheduler scheduler = make([&](ElementId element, AttributeId attribute) -> Attribute {
    const Attribute& needed = running->attribute(element == kOne ? kOther : kOne, attribute);
    return needed.available() ? needed : api_value(std::int64_t{7}, "B");
  });
  running = &scheduler;
  EXPECT_TRUE(scheduler.attribute(kOne, kSizeAttribute).available());
  const Attribute& circular = scheduler.attribute(kOther, kSizeAttribute);
  EXPECT_EQ(circular.reason, Reason::kDependency);
  const std::string one = fmt::format("{}.size", to_string(kOne));
  EXPECT_EQ(circular.detail, fmt::format("circular dependency: {} -> {}.size -> {}", one, to_string(kOther), one));
  EXPECT_TRUE(scheduler.complete());
}

TEST_F(SchedulerTest, ProgressNamesWhatRunsAndStopsAtTheEnd) {
  Scheduler scheduler = make([](ElementId element, AttributeId) -> Attribute {
    if (element == kOther) throw probe::Stopped();
    return api_value(std::int64_t{7}, "B");
  });
  scheduler.expect(2);
  static_cast<void>(scheduler.attribute(kOne, kSizeAttribute));
  scheduler.count_done();
  static_cast<void>(scheduler.attribute(kOther, kSizeAttribute));
  scheduler.report_end();
  ASSERT_EQ(progress_.size(), 2u);
  EXPECT_EQ(progress_[0].probe, "l1.size");
  EXPECT_EQ(progress_[0].total, 2u);
  EXPECT_EQ(progress_[1].probe, "l2.size");
  EXPECT_EQ(progress_[1].done, 1u);
}

// A device whose driver is busy for one second per program.
class TimedDevice : public Device {
 public:
  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  [[nodiscard]] std::vector<ProgramResult> run(std::span<const Program> programs) override {
    times_.gpu_seconds += static_cast<double>(programs.size());
    times_.of(CallKind::kWait).seconds += static_cast<double>(programs.size());
    return std::vector<ProgramResult>(programs.size());
  }
  [[nodiscard]] DeviceTimes times() const override { return times_; }

 private:
  DeviceInfo info_;
  DeviceTimes times_;
};

TEST(SchedulerTimes, OfTheDeviceAreTheStepsOwn) {
  TimedDevice device;
  for (const bool profile : {true, false}) {
    probe::DeviceSession bench(device, {.profile = profile});
    Scheduler* running = nullptr;
    Scheduler scheduler(bench,
                        [&](ElementId element, AttributeId) {
                          static_cast<void>(bench.run({ChaseProgram{}}));
                          if (element == kOne) static_cast<void>(running->attribute(kOther, kSizeAttribute));
                          static_cast<void>(bench.run({ChaseProgram{}, ChaseProgram{}}));
                          return api_value(std::int64_t{7}, "B");
                        },
                        {});
    running = &scheduler;
    static_cast<void>(scheduler.attribute(kOne, kSizeAttribute));
    ASSERT_EQ(scheduler.timing().size(), 2u);  // including the one that the first needed
    for (const ProbeTime& time : scheduler.timing()) {
      ASSERT_EQ(time.device.has_value(), profile);
      if (!profile) continue;
      EXPECT_EQ(time.device->gpu_seconds, 3) << time.probe;
      EXPECT_EQ(time.device->of(CallKind::kWait).seconds, 3) << time.probe;
    }
  }
}

TEST_F(SchedulerTest, SamplesAreNamedAfterTheirAttribute) {
  Scheduler scheduler = make([](ElementId, AttributeId) {
    Attribute attribute = api_value(std::int64_t{7}, "B");
    attribute.samples.push_back({.name = "sweep"});
    return attribute;
  });
  EXPECT_EQ(scheduler.attribute(kOne, kSizeAttribute).samples.front().name, "l1.size.sweep");
}

}  // namespace
}  // namespace gputopo
