// The places of the parts of chase programs, and the programs that share a launch.
#include "device/launch/chase_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "gputopo/error.h"

namespace gputopo::launch {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::uint32_t kLayoutWarp = 32;

ChaseArray chase_array_in(Space space, std::uint64_t bytes, std::uint64_t stride = 64) {
  return {.space = space, .bytes = bytes, .stride_bytes = stride};
}

ChaseProgram chase_over(std::vector<ChaseArray> arrays) {
  return {.arrays = std::move(arrays), .actors = {{}}, .steps = {{.loads = 10}}};
}

TEST(ChaseLayout, ArraysAreAlignedToTheirSize) {
  // Alignments from 4 KiB to 64 KiB.
  const ChaseLayout layout =
      lay_out(chase_over({chase_array_in(Space::kGlobal, 1000), chase_array_in(Space::kReadOnly, 5000),
                          chase_array_in(Space::kGlobalBypassL1, 100'000), chase_array_in(Space::kTexture, 16)}),
              kLayoutWarp);
  EXPECT_EQ(layout.arrays[0].data_offset, 0u);
  EXPECT_EQ(layout.arrays[1].data_offset, 8192u);
  EXPECT_EQ(layout.arrays[2].data_offset, 65'536u);
  EXPECT_EQ(layout.arrays[3].data_offset, 167'936u);
  EXPECT_EQ(layout.data_bytes, 172'032u);
}

TEST(ChaseLayout, AnAliasLiesWhereItsArrayDoes) {
  ChaseProgram program = chase_over({chase_array_in(Space::kGlobal, 5000), chase_array_in(Space::kGlobal, 5000),
                                     chase_array_in(Space::kReadOnly, 5000)});
  program.arrays[2].alias_of = 1;
  const ChaseLayout layout = lay_out(program, kLayoutWarp);
  EXPECT_EQ(layout.arrays[1].data_offset, 8192u);
  EXPECT_EQ(layout.arrays[2].data_offset, 8192u);
  EXPECT_EQ(layout.data_bytes, 16'384u) << "takes no room of its own";
}

TEST(ChaseLayout, ConstantsLieInOneBank) {
  const ChaseProgram program = chase_over({chase_array_in(Space::kConstant, 1000), chase_array_in(Space::kGlobal, 4096),
                                           chase_array_in(Space::kConstant, 300)});
  const ChaseLayout layout = lay_out(program, kLayoutWarp);
  EXPECT_EQ(layout.constant_offset, 4096u);
  EXPECT_EQ(layout.arrays[0].space_offset, 0u);
  EXPECT_EQ(layout.arrays[0].data_offset, 4096u);
  EXPECT_EQ(layout.arrays[2].space_offset, 1024u);
  EXPECT_EQ(layout.arrays[2].data_offset, 4096u + 1024u);
  EXPECT_EQ(layout.data_bytes, 4096u + kConstantBankBytes) << "the whole bank is copied";
  EXPECT_THAT(layout.constants, ElementsAre(program.arrays[0], program.arrays[2]));
}

TEST(ChaseLayout, ConstantsThatFitOnlyUnalignedAreRefused) {
  const auto fits = [](std::uint64_t first, std::uint64_t second) {
    return lay_out(chase_over({chase_array_in(Space::kConstant, first), chase_array_in(Space::kConstant, second)}),
                   kLayoutWarp);
  };
  EXPECT_NO_THROW(fits(65'024, 512));
  EXPECT_THROW(fits(65'025, 500), NotSupportedError);
}

TEST(ChaseLayout, SharedMemoryHoldsHistogramLatenciesAndArrays) {
  ChaseProgram program = chase_over({chase_array_in(Space::kShared, 1000), chase_array_in(Space::kShared, 200)});
  ChaseLayout layout = lay_out(program, kLayoutWarp);
  EXPECT_EQ(layout.latency_place, 8u) << "no step has a histogram";
  EXPECT_EQ(layout.shared_image_place, 128u);
  EXPECT_EQ(layout.arrays[1].space_offset, 1024u);
  EXPECT_EQ(layout.shared_image_bytes, 1280u);
  EXPECT_EQ(layout.shared_bytes, 128u + 1280u);
  EXPECT_EQ(layout.data_bytes, 4096u) << "the image";

  program.steps.push_back({.kind = StepKind::kTimed, .loads = 20});
  layout = lay_out(program, kLayoutWarp);
  EXPECT_EQ(layout.latency_place, 4096u);
  EXPECT_EQ(layout.shared_image_place, 4224u) << "20 latencies";
  program.timed_cap = 4;
  EXPECT_EQ(lay_out(program, kLayoutWarp).shared_image_place, 4224u) << "4 latencies";
  program.steps[1].kind = StepKind::kCounted;
  EXPECT_EQ(lay_out(program, kLayoutWarp).shared_image_place, 4096u);
}

TEST(ChaseLayout, RecordsOfBlocksThenOfSteps) {
  ChaseProgram program = chase_over({chase_array_in(Space::kGlobal, 4096)});
  EXPECT_EQ(lay_out(program, kLayoutWarp).record_bytes, 128u) << "48 of the block, 16 of the step";
  program.timed_cap = 3;
  program.steps.push_back({.kind = StepKind::kTimed, .loads = 50});
  program.steps.push_back({.kind = StepKind::kPaired, .loads = 50});
  EXPECT_EQ(kept_latencies(program, program.steps[0]), 0u);
  EXPECT_EQ(kept_latencies(program, program.steps[1]), 3u);
  EXPECT_EQ(kept_latencies(program, program.steps[2]), 0u);
  EXPECT_EQ(step_record_bytes(program, program.steps[0]), 16u);
  EXPECT_EQ(step_record_bytes(program, program.steps[1]), 16u + 4096u + 16u) << "12 of latencies, in whole words";
  EXPECT_EQ(step_record_bytes(program, program.steps[2]), 16u + 4096u);
  const ChaseLayout layout = lay_out(program, kLayoutWarp);
  EXPECT_EQ(layout.steps_offset(), 48u);
  EXPECT_EQ(layout.record_bytes, 8320u) << "48 + 16 + 4128 + 4112, in units of 128";
}

TEST(ChaseLayout, EverySmThatIsNamedHasASlot) {
  ChaseProgram program = chase_over({chase_array_in(Space::kGlobal, 4096)});
  EXPECT_THAT(lay_out(program, kLayoutWarp).sms, IsEmpty());
  EXPECT_EQ(lay_out(program, kLayoutWarp).slots(), 1u);
  program.actors = {{.sm = 7}, {.sm = 2}, {.warp = 1, .sm = 7}};
  const ChaseLayout layout = lay_out(program, kLayoutWarp);
  EXPECT_THAT(layout.sms, ElementsAre(7, 2));
  EXPECT_EQ(layout.turn_offset(), 2 * 48u);
  EXPECT_EQ(layout.steps_offset(), 2 * 48u + 128u) << "behind the word that counts the steps";
}

TEST(ChaseLayout, BlocksHaveTheThreadsThatActorsNeed) {
  ChaseProgram program = chase_over({chase_array_in(Space::kGlobal, 4096)});
  EXPECT_EQ(lay_out(program, 32).threads, 32u);
  EXPECT_EQ(lay_out(program, 64).threads, 64u);
  program.actors = {{.warp = 3}, {.warp = 8}};  // no step uses the second actor
  EXPECT_EQ(lay_out(program, 32).threads, 4 * 32u);
  program.steps.push_back({.kind = StepKind::kTouch});
  EXPECT_EQ(lay_out(program, 32).threads, kTouchThreads);
}

TEST(ChaseLayout, ProgramsThatTakeTooLongAreRefused) {
  ChaseProgram program = chase_over({chase_array_in(Space::kGlobal, 4096)});
  program.steps[0].loads = 5'000'000;
  EXPECT_NO_THROW(static_cast<void>(lay_out(program, kLayoutWarp)));
  program.steps[0].kind = StepKind::kPaired;  // loads twice
  EXPECT_THROW(static_cast<void>(lay_out(program, kLayoutWarp)), UsageError);
  program.arrays[0].space = Space::kShared;
  EXPECT_NO_THROW(static_cast<void>(lay_out(program, kLayoutWarp)));
}

// ---- batches ----

class ChaseBatches : public ::testing::Test {
 protected:
  // A waiting program with an array of this many bytes.
  ChasePlan& wait(std::uint64_t bytes = 4096, std::vector<ChaseArray> constants = {}) {
    ChasePlan& plan = plans_.emplace_back();
    plan.layout.data_bytes = bytes;
    for (const ChaseArray& array : constants) plan.layout.constant_bytes += array.bytes;
    plan.layout.constants = std::move(constants);
    plan.layout.record_bytes = 128;
    return plan;
  }
  // Indices of the programs that the next batch takes.
  std::vector<std::size_t> take(std::uint32_t sm_count = 132) {
    if (waiting_.empty()) {
      for (ChasePlan& plan : plans_) waiting_.push_back(&plan);
    }
    return numbers(take_batch(waiting_, sm_count));
  }
  [[nodiscard]] std::vector<std::size_t> waiting() const { return numbers(waiting_); }

 private:
  [[nodiscard]] std::vector<std::size_t> numbers(const std::vector<ChasePlan*>& some) const {
    std::vector<std::size_t> found;
    for (const ChasePlan* plan : some) {
      std::size_t number = 0;
      while (&plans_[number] != plan) ++number;
      found.push_back(number);
    }
    return found;
  }

  std::deque<ChasePlan> plans_;
  std::vector<ChasePlan*> waiting_;
};

TEST_F(ChaseBatches, TakeAProgramForEachSm) {
  for (int i = 0; i < 5; ++i) wait();
  EXPECT_THAT(take(3), ElementsAre(0, 1, 2));
  EXPECT_THAT(waiting(), ElementsAre(3, 4));
  EXPECT_THAT(take(3), ElementsAre(3, 4));
  EXPECT_THAT(waiting(), IsEmpty());
}

TEST_F(ChaseBatches, LeaveThoseAloneThatMustBe) {
  wait();
  wait().alone = true;
  wait();
  EXPECT_THAT(take(), ElementsAre(0, 2));
  EXPECT_THAT(take(), ElementsAre(1));
}

TEST_F(ChaseBatches, LetNobodyJoinAProgramThatMustBeAlone) {
  wait().alone = true;
  wait();
  EXPECT_THAT(take(), ElementsAre(0));
  EXPECT_THAT(take(), ElementsAre(1));
}

TEST_F(ChaseBatches, AreOfOneCarveOut) {
  wait().carve_out_bytes = 8192;
  wait().carve_out_bytes = 16'384;
  wait().carve_out_bytes = 8192;
  EXPECT_THAT(take(), ElementsAre(0, 2));
  EXPECT_THAT(waiting(), ElementsAre(1));
}

TEST_F(ChaseBatches, ShareConstants) {
  const std::vector<ChaseArray> some = {chase_array_in(Space::kConstant, 40'000)};
  const std::vector<ChaseArray> others = {chase_array_in(Space::kConstant, 2048)};
  wait();
  wait(4096, some);
  wait(4096, others);
  wait(4096, some);
  wait();
  EXPECT_THAT(take(), ElementsAre(0, 1, 3, 4)) << "large ones have the bank to themselves";
  EXPECT_THAT(take(), ElementsAre(2));
}

TEST_F(ChaseBatches, LetSmallConstantsLieInOneBank) {
  const auto small = [](std::uint64_t bytes) { return std::vector{chase_array_in(Space::kConstant, bytes)}; };
  const ChasePlan& first = wait(4096, small(2048));
  const ChasePlan& second = wait(4096, small(8192));
  wait(4096, small(8200));
  const ChasePlan& same = wait(4096, small(2048));
  for (std::uint64_t i = 1; i <= 7; ++i) wait(4096, small(16 * i));
  EXPECT_THAT(take(), ElementsAre(0, 1, 3, 4, 5, 6, 7, 8, 9)) << "eight in 64 KiB";
  EXPECT_EQ(first.constant_place, 0u);
  EXPECT_EQ(second.constant_place, 8192u);
  EXPECT_EQ(same.constant_place, 0u);
  EXPECT_THAT(take(), ElementsAre(2));
  EXPECT_THAT(take(), ElementsAre(10));
}

TEST_F(ChaseBatches, HoldAGibibyteOrOneProgram) {
  wait(600u << 20);
  wait(600u << 20);
  wait(400u << 20);
  wait(2048u << 20);
  EXPECT_THAT(take(), ElementsAre(0, 2));
  EXPECT_THAT(take(), ElementsAre(1));
  EXPECT_THAT(take(), ElementsAre(3));
}

TEST(ChaseBatchLayout, DataThenRecordsThenWhatIsStaged) {
  ChasePlan one;
  one.layout.data_bytes = 4096;
  one.layout.record_bytes = 256;
  ChasePlan other;
  other.layout.data_bytes = 100'000;
  other.layout.record_bytes = 128;
  const BatchLayout layout = lay_out({&one, &other});
  EXPECT_THAT(layout.data, ElementsAre(0, 65'536));
  EXPECT_EQ(layout.records_begin, 196'608u);
  EXPECT_THAT(layout.records, ElementsAre(196'608, 196'864));
  EXPECT_EQ(layout.records_bytes, 384u);
  EXPECT_EQ(layout.staged, 196'992u);
}

}  // namespace
}  // namespace gputopo::launch
