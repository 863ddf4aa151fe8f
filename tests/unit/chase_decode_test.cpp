// Decodes the records that blocks of chase programs leave, from literals.
#include "device/launch/chase_decode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "gputopo/error.h"
#include "support/message_of.h"

namespace gputopo::launch {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::uint32_t kDecodedSms = 132;

// The records of a batch as downloaded: zeros except for the values that a test puts there.
class LeftBehind {
 public:
  explicit LeftBehind(std::vector<ChaseProgram> programs) : programs_(std::move(programs)), plans_(programs_.size()) {
    for (std::size_t i = 0; i < programs_.size(); ++i) {
      plans_[i] = {.program = &programs_[i], .layout = lay_out(programs_[i], 32)};
      batch_.push_back(&plans_[i]);
    }
    layout_ = lay_out(batch_);
    bytes_.resize(layout_.records_bytes);
  }

  // A block of a program ran on an SM.
  void ran(std::size_t program, std::uint32_t sm, std::size_t slot = 0, std::uint32_t error = 0) {
    put(program, slot * sizeof(BlockRecord),
        BlockRecord{.start_cycles = 1000, .end_cycles = 5000, .sm = sm, .claimed = 1, .error = error});
  }
  // Writes a value into the records of a program.
  template <typename T>
  void put(std::size_t program, std::uint64_t offset, const T& value) {
    std::memcpy(bytes_.data() + layout_.records[program] - layout_.records_begin + offset, &value, sizeof(value));
  }

  [[nodiscard]] std::vector<ChaseAnswer> decoded() const { return decode(batch_, layout_, bytes_, kDecodedSms); }
  template <typename Exception>
  [[nodiscard]] std::string problem() const {
    return test::message_of<Exception>("decoding", [this] { static_cast<void>(decoded()); });
  }

 private:
  std::vector<ChaseProgram> programs_;
  std::vector<ChasePlan> plans_;
  std::vector<ChasePlan*> batch_;
  BatchLayout layout_;
  std::vector<std::byte> bytes_;
};

const ChaseProgram kDecodedWalk{
    .arrays = {{.bytes = 1024, .stride_bytes = 64}}, .actors = {{}}, .steps = {{.loads = 10}}};

TEST(ChaseDecoding, StepsFollowTheBlock) {
  ChaseProgram program = kDecodedWalk;
  program.timed_cap = 3;
  program.steps.push_back({.kind = StepKind::kTimed, .loads = 50});
  program.steps.push_back({.kind = StepKind::kTouch});
  program.steps.push_back({.kind = StepKind::kTouch, .loads = 5, .first = 3});
  LeftBehind records({program});
  records.ran(0, 17);
  records.put(0, 48, StepRecord{.cycles = 400});
  records.put(0, 64, StepRecord{.cycles = 2000});
  records.put(0, 80 + 4 * 20, std::uint32_t{49});  // bins of the histogram
  records.put(0, 80 + 4 * 300, std::uint32_t{1});
  records.put(0, 80 + 4096, std::array<std::uint32_t, 3>{40, 41, 600});
  records.put(0, 80 + 4096 + 16, StepRecord{.cycles = 30});
  records.put(0, 80 + 4096 + 32, StepRecord{.cycles = 31});
  const std::vector<ChaseAnswer> answers = records.decoded();
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_EQ(answers[0].block.sm, 17u);
  EXPECT_EQ(answers[0].block.end_cycles, 5000u);
  EXPECT_FALSE(answers[0].met_another);
  const std::vector<StepResult>& steps = answers[0].steps;
  ASSERT_THAT(steps, SizeIs(4));
  EXPECT_EQ(steps[0].loads, 10u);
  EXPECT_EQ(steps[0].total_cycles, 400u);
  EXPECT_THAT(steps[0].histogram, IsEmpty());
  EXPECT_EQ(steps[1].loads, 50u);
  EXPECT_EQ(steps[1].total_cycles, 2000u);
  EXPECT_THAT(steps[1].latencies, ElementsAre(40, 41, 600));
  EXPECT_THAT(steps[1].histogram, SizeIs(301)) << "zeros at its end are cut";
  EXPECT_EQ(steps[1].histogram[20], 49u);
  EXPECT_EQ(steps[1].histogram[300], 1u);
  EXPECT_EQ(steps[2].loads, 16u) << "a touch of all elements";
  EXPECT_EQ(steps[2].total_cycles, 30u);
  EXPECT_EQ(steps[3].loads, 5u);
  EXPECT_EQ(steps[3].total_cycles, 31u);
}

TEST(ChaseDecoding, AHistogramIsCutToNothingOrNotAtAll) {
  ChaseProgram program = kDecodedWalk;
  program.steps = {{.kind = StepKind::kCounted, .loads = 50}, {.kind = StepKind::kPaired, .loads = 50}};
  LeftBehind records({program});
  records.ran(0, 0);
  records.put(0, 48 + 16 + 4096 + 16 + 4092, std::uint32_t{50});
  const std::vector<StepResult> steps = records.decoded()[0].steps;
  EXPECT_THAT(steps[0].histogram, IsEmpty());
  EXPECT_THAT(steps[0].latencies, IsEmpty());
  EXPECT_THAT(steps[1].histogram, SizeIs(kHistogramBins));
  EXPECT_EQ(steps[1].histogram.back(), 50u);
}

TEST(ChaseDecoding, EachProgramHasItsOwn) {
  LeftBehind records({kDecodedWalk, kDecodedWalk, kDecodedWalk});
  for (const std::size_t program : {0u, 1u, 2u}) {
    records.ran(program, static_cast<std::uint32_t>(5 - program));
    records.put(program, 48, StepRecord{.cycles = 100 * program});
  }
  const std::vector<ChaseAnswer> answers = records.decoded();
  for (const std::size_t program : {0u, 1u, 2u}) {
    EXPECT_EQ(answers[program].block.sm, 5 - program);
    EXPECT_EQ(answers[program].steps[0].total_cycles, 100 * program);
    EXPECT_FALSE(answers[program].met_another);
  }
}

TEST(ChaseDecoding, TwoProgramsOnOneSmHaveMet) {
  LeftBehind records({kDecodedWalk, kDecodedWalk, kDecodedWalk});
  records.ran(0, 4);
  records.ran(1, 9);
  records.ran(2, 4);
  const std::vector<ChaseAnswer> answers = records.decoded();
  EXPECT_TRUE(answers[0].met_another);
  EXPECT_FALSE(answers[1].met_another);
  EXPECT_TRUE(answers[2].met_another);
}

ChaseProgram on_two_sms() {
  ChaseProgram program = kDecodedWalk;
  program.actors = {{.sm = 7}, {.sm = 2}};
  program.steps.push_back({.actor = 1, .loads = 10});
  return program;
}

TEST(ChaseDecoding, TheBlockOfTheFirstNamedSmIsTheProgramsBlock) {
  LeftBehind records({on_two_sms()});
  records.ran(0, 107);
  records.ran(0, 102, 1);
  records.put(0, 2 * 48 + 128, StepRecord{.cycles = 70});
  records.put(0, 2 * 48 + 128 + 16, StepRecord{.cycles = 20});
  const ChaseAnswer answer = records.decoded()[0];
  EXPECT_EQ(answer.block.sm, 107u);
  EXPECT_FALSE(answer.met_another);
  EXPECT_EQ(answer.steps[0].total_cycles, 70u);
  EXPECT_EQ(answer.steps[1].total_cycles, 20u);
}

TEST(ChaseDecoding, TwoBlocksOfOneProgramMayHaveMet) {
  LeftBehind records({on_two_sms()});
  records.ran(0, 107);
  records.ran(0, 107, 1);
  EXPECT_TRUE(records.decoded()[0].met_another);
}

TEST(ChaseDecoding, ABlockThatNeverRanNamesItsSm) {
  ChaseProgram wanted = kDecodedWalk;
  wanted.exclusive = true;
  wanted.sm = 99;
  EXPECT_EQ(LeftBehind({wanted}).problem<NotSupportedError>(),
            "no block of the launch ran on SM 99: the numbering of this GPU's 132 SMs may have gaps");
  LeftBehind second({on_two_sms()});
  second.ran(0, 7);
  EXPECT_THAT(second.problem<NotSupportedError>(), HasSubstr("ran on SM 2:"));
  LeftBehind first({on_two_sms()});
  first.ran(0, 2, 1);
  EXPECT_THAT(first.problem<NotSupportedError>(), HasSubstr("ran on SM 7:"));
}

TEST(ChaseDecoding, ABlockThatLeftItsArrayNamesTheStep) {
  ChaseProgram program = kDecodedWalk;
  program.steps.push_back({.loads = 10});
  LeftBehind records({kDecodedWalk, program});
  records.ran(0, 0);
  records.ran(1, 1, 0, 2);
  EXPECT_THAT(records.problem<DeviceError>(), HasSubstr("step 1 followed a pointer out of its array"));
}

TEST(ChaseDecoding, WhatElseGoesWrongIsTold) {
  LeftBehind constants({kDecodedWalk});
  constants.ran(0, 0, 0, kNoLink);
  EXPECT_THAT(constants.problem<DeviceError>(), HasSubstr("constant memory does not start at offset 0"));
  LeftBehind turns({on_two_sms()});
  turns.ran(0, 7);
  turns.ran(0, 2, 1, kNoTurn);
  EXPECT_THAT(turns.problem<DeviceError>(), HasSubstr("a step on another SM did not end"));
}

}  // namespace
}  // namespace gputopo::launch
