// Which chase programs run again, and how their answers describe the run, on a scripted GPU.
#include "device/launch/chase_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>

namespace gputopo::launch {
namespace {

using ::testing::ElementsAre;
using ::testing::Lt;

constexpr std::uint64_t kScriptedMhz = 1500;

// A GPU in host memory. Every task of a launch ends at once, on the SM that the test names.
class ScriptedGpu : public ChaseGpu {
 public:
  ScriptedGpu() { info_.sm_count = 4; }

  std::vector<std::uint32_t> sms;          // of the next blocks; the others run on the SM of their index
  double speed = 1;                        // of the SM clock, relative to kScriptedMhz
  std::vector<double> end_ms;              // of the next blocks; the others take 1 ms
  double wait_ms = 0;                      // host's wait per launch beyond the blocks' time
  bool others_come_later = false;          // the empty launch behind the chases has to wait
  std::uint32_t turn_ns = 0;               // from the start of a launch until others stop it
  std::vector<std::uint32_t> launches;     // number of tasks of each launch
  std::vector<std::uint64_t> local_bytes;  // that each launch with local memory requested before it reserved memory

  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  [[nodiscard]] Address reserve(std::uint64_t bytes) override {
    memory_.assign(bytes, std::byte{0xee});
    return reinterpret_cast<Address>(memory_.data());
  }
  void upload(Address to, const void* from, std::uint64_t bytes) const override {
    std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  }
  void download(void* to, Address from, std::uint64_t bytes) const override {
    std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  }
  void clear(Address address, std::uint64_t bytes) const override {
    std::memset(reinterpret_cast<void*>(address), 0, bytes);
  }
  [[nodiscard]] std::uint64_t carve_out_for(std::uint64_t wanted, std::uint64_t, std::uint32_t) const override {
    return wanted;
  }
  [[nodiscard]] std::uint64_t shared_bytes_for_one_block(std::uint64_t, std::uint64_t bytes) const override {
    return bytes;
  }
  [[nodiscard]] std::uint32_t patience_cycles() const override { return 0; }
  [[nodiscard]] BlockRecord spin_all(std::uint64_t) override {
    after_launch(std::chrono::milliseconds(others_come_later || wait_ms > 1 ? 2 : 0));
    return {.sink = turn_ns};
  }
  void check(const ChaseProgram&) const override {}
  void prepare_local(std::uint64_t bytes) override {
    memory_.clear();
    local_bytes.push_back(bytes);
  }
  void launch_fill(Address, std::uint32_t, std::uint64_t) override {}

  void launch_chase(const ChaseLaunch& launch) override {
    launches.push_back(launch.task_count);
    double longest_ms = 1;
    const auto* const tasks = reinterpret_cast<const ChaseTask*>(launch.tasks);
    for (std::uint32_t i = 0; i < launch.task_count; ++i) {
      std::uint32_t sm = i;
      if (!sms.empty()) {
        sm = sms.front();
        sms.erase(sms.begin());
      }
      double ms = 1;
      if (!end_ms.empty()) {
        ms = end_ms.front();
        end_ms.erase(end_ms.begin());
      }
      longest_ms = std::max(longest_ms, ms);
      constexpr std::uint64_t kMicroseconds = 1000;
      *reinterpret_cast<BlockRecord*>(tasks[i].result) = {
          .end_cycles = static_cast<std::uint64_t>(kMicroseconds * kScriptedMhz * speed * ms),
          .end_ns = static_cast<std::uint64_t>(1000 * kMicroseconds * ms),
          .sm = sm,
          .claimed = 1};
    }
    after_launch(std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double, std::milli>(longest_ms + wait_ms)));
  }

 private:
  DeviceInfo info_;
  std::vector<std::byte> memory_;
};

class ChaseRuns : public ::testing::Test {
 protected:
  void run(const std::vector<ChaseProgram>& programs) {
    results_.assign(programs.size(), {});
    std::vector<ChaseJob> jobs;
    for (std::size_t i = 0; i < programs.size(); ++i) jobs.push_back({&programs[i], &results_[i]});
    runner_.run(jobs);
  }
  [[nodiscard]] std::vector<std::uint32_t> sms() const {
    std::vector<std::uint32_t> found;
    for (const ProgramResult& result : results_) {
      const auto& chase = std::get<ChaseResult>(result.data);
      EXPECT_EQ(chase.steps.size(), 1u);
      found.push_back(chase.sm);
    }
    return found;
  }
  [[nodiscard]] std::vector<bool> undisturbed() const {
    std::vector<bool> found;
    for (const ProgramResult& result : results_) found.push_back(result.undisturbed);
    return found;
  }

  [[nodiscard]] std::vector<bool> had_contention() const {
    std::vector<bool> found;
    for (const ProgramResult& result : results_) found.push_back(result.had_contention);
    return found;
  }

  static inline const ChaseProgram kWalk{
      .arrays = {{.bytes = 1024, .stride_bytes = 64}}, .actors = {{}}, .steps = {{.loads = 10}}};
  ScriptedGpu gpu_;
  ChaseRunner runner_{gpu_};
  std::vector<ProgramResult> results_;
};

TEST_F(ChaseRuns, RoomIsMadeForTheLargestLocalMemoryOfALaunch) {
  const auto local = [](std::uint64_t bytes) {
    return ChaseProgram{.arrays = {{.space = Space::kLocal, .bytes = bytes, .stride_bytes = 128}},
                        .actors = {{}},
                        .steps = {{.loads = 4}}};
  };
  run({local(4096), local(1 << 16), local(512)});
  EXPECT_THAT(gpu_.local_bytes, ElementsAre(1 << 16));
  EXPECT_EQ(gpu_.launches.size(), 1u);
  run({{.arrays = {{.bytes = 4096, .stride_bytes = 64}}, .actors = {{}}, .steps = {{.loads = 4}}}});
  EXPECT_EQ(gpu_.local_bytes.size(), 1u) << "without local arrays nothing is asked for";
}

TEST_F(ChaseRuns, TheTwoThatMetRunAgain) {
  gpu_.sms = {2, 1, 2};
  run({kWalk, kWalk, kWalk});
  EXPECT_THAT(gpu_.launches, ElementsAre(3, 2));
  EXPECT_THAT(sms(), ElementsAre(0, 1, 1));
  EXPECT_THAT(undisturbed(), ElementsAre(true, true, true));
}

TEST_F(ChaseRuns, WhereAllMetEachRunsAlone) {
  gpu_.sms = {3, 3, 1, 2};
  run({kWalk, kWalk});
  EXPECT_THAT(gpu_.launches, ElementsAre(2, 1, 1));
  EXPECT_THAT(sms(), ElementsAre(1, 2));
  EXPECT_THAT(undisturbed(), ElementsAre(true, true));
}

// A launch lasts as long as its longest program, so the three long programs must not lengthen two launches.
TEST_F(ChaseRuns, ProgramsThatTakeAboutAsLongGoTogether) {
  ChaseProgram longer = kWalk;
  longer.steps.front().loads = 1000;
  run({kWalk, longer, kWalk, longer, longer});
  EXPECT_THAT(gpu_.launches, ElementsAre(4, 1));
  EXPECT_THAT(sms(), ElementsAre(3, 0, 0, 1, 2)) << "the answers are in the order of the programs";
}

TEST_F(ChaseRuns, BlocksOfOneProgramThatMetAreADisturbance) {
  ChaseProgram program = kWalk;
  program.exclusive = true;
  program.actors = {{.sm = 0}, {.sm = 1}};
  gpu_.sms = {1, 1};
  run({program});
  EXPECT_THAT(gpu_.launches, ElementsAre(2)) << "once";
  EXPECT_THAT(undisturbed(), ElementsAre(false));
}

TEST_F(ChaseRuns, OfALaunchThatHadToWaitWhatEndsWithinItsTurnIsGood) {
  gpu_.wait_ms = 2.4;
  gpu_.turn_ns = 2'096'000;
  gpu_.end_ms = {0.3, 1.8, 1.95, 9};
  run({kWalk, kWalk, kWalk, kWalk});
  EXPECT_THAT(had_contention(), ElementsAre(false, false, true, true));
  EXPECT_THAT(undisturbed(), ElementsAre(true, true, false, false));
}

TEST_F(ChaseRuns, WhileNoTurnIsKnownNothingOfItIs) {
  gpu_.wait_ms = 2.4;
  run({kWalk, kWalk});
  EXPECT_THAT(had_contention(), ElementsAre(true, true));
}

TEST_F(ChaseRuns, OthersMayComeDuringALongLaunch) {
  gpu_.others_come_later = true;
  gpu_.turn_ns = 2'096'000;
  gpu_.end_ms = {0.3, 9};
  run({kWalk, kWalk});
  EXPECT_THAT(had_contention(), ElementsAre(false, true));
  gpu_.end_ms = {0.3, 0.9};
  run({kWalk, kWalk});
  EXPECT_THAT(had_contention(), ElementsAre(false, false)) << "too short for another's turn";
}

TEST_F(ChaseRuns, AloneNothingHasCompany) {
  gpu_.wait_ms = 0.09;
  gpu_.end_ms = {0.3, 80};
  run({kWalk, kWalk});
  EXPECT_THAT(had_contention(), ElementsAre(false, false));
}

TEST_F(ChaseRuns, AClockUnderNineTenthsOfTheHighestIsADisturbance) {
  run({kWalk});
  EXPECT_EQ(results_[0].sm_clock_mhz, 1500);
  EXPECT_TRUE(results_[0].undisturbed);
  gpu_.speed = 0.91;
  run({kWalk});
  EXPECT_TRUE(results_[0].undisturbed);
  gpu_.speed = 0.89;
  run({kWalk});
  EXPECT_EQ(results_[0].sm_clock_mhz, 1335);
  EXPECT_FALSE(results_[0].undisturbed);
  gpu_.speed = 1;
  run({kWalk});
  EXPECT_TRUE(results_[0].undisturbed);
}

TEST_F(ChaseRuns, AnswersSayWhenTheyStarted) {
  ChaseProgram apart = kWalk;
  apart.exclusive = true;
  run({kWalk, apart, kWalk});
  EXPECT_THAT(gpu_.launches, ElementsAre(2, 1));
  EXPECT_THAT(0.0, Lt(results_[0].started_seconds));
  EXPECT_EQ(results_[0].started_seconds, results_[2].started_seconds) << "one launch";
  EXPECT_THAT(results_[0].started_seconds, Lt(results_[1].started_seconds));
}

}  // namespace
}  // namespace gputopo::launch
