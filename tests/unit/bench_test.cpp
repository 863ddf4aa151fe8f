// How the bench handles programs that had company, and programs that take too long.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <thread>

#include "probe/bench/probe_runner.h"

namespace gputopo::probe {
namespace {

using ::testing::ElementsAre;
using ::testing::Le;

// Answers each program with the number of programs answered so far. Programs have company while `busy` returns true.
class BusyDevice : public Device {
 public:
  std::function<bool(std::size_t answered)> busy = [](std::size_t) { return false; };
  std::vector<std::size_t> batches;
  double rested_seconds = 0;
  double program_seconds = 0;

  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  [[nodiscard]] std::vector<ProgramResult> run(std::span<const Program> programs) override {
    batches.push_back(programs.size());
    std::vector<ProgramResult> results;
    for (std::size_t i = 0; i < programs.size(); ++i) {
      if (ended_ && ended_()) throw EndedError("ended");
      std::this_thread::sleep_for(std::chrono::duration<double>(program_seconds));
      results.push_back({.data = StreamResult{.bytes_moved = answered_}, .had_contention = busy(answered_)});
      ++answered_;
    }
    return results;
  }
  void set_stop_condition(std::function<bool()> ended) override { ended_ = std::move(ended); }
  void rest(double seconds) override { rested_seconds += seconds; }

 private:
  DeviceInfo info_;
  std::size_t answered_ = 0;
  std::function<bool()> ended_;
};

std::vector<std::uint64_t> answers(DeviceSession& bench, std::size_t programs) {
  std::vector<std::uint64_t> found;
  for (const ProgramResult& result : bench.run(std::vector<Program>(programs, StreamProgram{}))) {
    found.push_back(std::get<StreamResult>(result.data).bytes_moved);
  }
  return found;
}

TEST(DeviceSession, RepeatsWhatHadCompanyAndNothingElse) {
  BusyDevice device;
  device.busy = [](std::size_t answered) { return answered == 1 || answered == 3 || answered == 4; };
  DeviceSession bench(device, {});
  EXPECT_THAT(answers(bench, 4), ElementsAre(0, 6, 2, 5));
  EXPECT_THAT(device.batches, ElementsAre(4, 2, 1));
  EXPECT_EQ(bench.programs_repeated(), 3u);
  EXPECT_GT(device.rested_seconds, 0);
}

TEST(DeviceSession, ABurstIsOutlasted) {
  BusyDevice device;
  device.busy = [&](std::size_t) { return device.rested_seconds < 0.5; };
  DeviceSession bench(device, {});
  EXPECT_EQ(answers(bench, 1).size(), 1u);
}

TEST(DeviceSession, ANeighbourThatNeverEndsIsFoundOutOnce) {
  BusyDevice device;
  device.busy = [](std::size_t) { return true; };
  DeviceSession bench(device, {});
  for (int i = 0; i < 20; ++i) EXPECT_THROW((void)answers(bench, 1), Disturbed);
  EXPECT_THAT(device.rested_seconds, Le(Patience{}.all_pauses_seconds));
  const std::size_t before = device.batches.size();
  EXPECT_THROW((void)answers(bench, 1), Disturbed);
  EXPECT_EQ(device.batches.size() - before, 2u) << "once more, for it may have ended";
}

TEST(DeviceSession, PausesThatHelpAreNotCounted) {
  BusyDevice device;
  double busy_until = 0;
  device.busy = [&](std::size_t) { return device.rested_seconds < busy_until; };
  DeviceSession bench(device, {});
  for (int i = 0; i < 50; ++i) {
    busy_until = device.rested_seconds + 0.3;
    EXPECT_EQ(answers(bench, 1).size(), 1u) << i;
  }
  EXPECT_GT(device.rested_seconds, Patience{}.all_pauses_seconds);
}

TEST(DeviceSession, ABatchEndsWithTheBudget) {
  BusyDevice device;
  device.program_seconds = 0.01;
  DeviceSession bench(device, {.budget_seconds = 0.1});
  EXPECT_THROW((void)answers(bench, 1000), OverBudget);
  EXPECT_LT(bench.elapsed_seconds(), 1);
}

TEST(DeviceSession, ABatchEndsWhenTheUserWants) {
  BusyDevice device;
  std::atomic<bool> stop = false;
  device.busy = [&](std::size_t answered) {
    stop = answered == 5;
    return false;
  };
  DeviceSession bench(device, {.stop = &stop});
  EXPECT_THROW((void)answers(bench, 1000), Stopped);
}

}  // namespace
}  // namespace gputopo::probe
