// The tasks of chase programs as the kernels read them, for given addresses.
#include "device/launch/chase_encode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace gputopo::launch {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr Address kBatchBase = 0x10'000'000;
constexpr std::uint32_t kBatchPatience = 777;

// An encoded batch and its parts.
class EncodedChases {
 public:
  // `places`: where programs differ from the default, which is no textures and any SM or the named ones.
  explicit EncodedChases(std::vector<ChaseProgram> programs, std::vector<ChasePlace> places = {})
      : programs_(std::move(programs)), plans_(programs_.size()) {
    BatchPlace place{
        .base = kBatchBase, .warp_size = 32, .patience_cycles = kBatchPatience, .programs = std::move(places)};
    for (std::size_t i = 0; i < programs_.size(); ++i) {
      plans_[i] = {.program = &programs_[i], .layout = lay_out(programs_[i], 32)};
      batch_.push_back(&plans_[i]);
      if (place.programs.size() > i) continue;
      place.programs.push_back({.textures = std::vector<std::uint64_t>(programs_[i].arrays.size()),
                                .wanted_sms = std::vector<std::uint32_t>(plans_[i].layout.slots(), kAnySm)});
    }
    std::vector<ChasePlan*> waiting = batch_;
    static_cast<void>(take_batch(waiting, 132));  // determines where their constants lie
    layout_ = lay_out(batch_);
    ChainOrders orders;
    ChaseTables tables = stage_tables(batch_, orders);
    room_ = tables.staging.size() + task_bytes(batch_);
    encoded_ = encode(batch_, layout_, place, std::move(tables), orders);
  }

  [[nodiscard]] const EncodedBatch& batch() const { return encoded_; }
  [[nodiscard]] std::uint64_t room() const { return room_; }
  [[nodiscard]] Address data(std::size_t program) const { return kBatchBase + layout_.data[program]; }
  [[nodiscard]] Address records(std::size_t program) const { return kBatchBase + layout_.records[program]; }
  [[nodiscard]] std::vector<FillTask> fills() const { return read<FillTask>(encoded_.fills, encoded_.fill_count); }
  [[nodiscard]] std::vector<ChaseTask> tasks() const { return read<ChaseTask>(encoded_.tasks, encoded_.task_count); }
  [[nodiscard]] std::vector<StepTask> steps(std::size_t task = 0) const {
    return read<StepTask>(tasks()[task].steps, tasks()[task].step_count);
  }
  // The values that the host stages at an address.
  template <typename T>
  [[nodiscard]] std::vector<T> read(Address at, std::size_t count) const {
    std::vector<T> values(count);
    std::memcpy(values.data(), encoded_.bytes.data() + (at - kBatchBase - layout_.staged), count * sizeof(T));
    return values;
  }

 private:
  std::vector<ChaseProgram> programs_;
  std::vector<ChasePlan> plans_;
  std::vector<ChasePlan*> batch_;
  BatchLayout layout_;
  std::uint64_t room_ = 0;
  EncodedBatch encoded_;
};

ChaseProgram walk_over(std::vector<ChaseArray> arrays) {
  return {.arrays = std::move(arrays), .actors = {{}}, .steps = {{.loads = 10}}};
}

// Walks both chains of each array to their ends.
ChaseProgram walk_all_of(std::vector<ChaseArray> arrays) {
  ChaseProgram program = walk_over(std::move(arrays));
  program.steps.clear();
  for (std::uint32_t i = 0; i < program.arrays.size(); ++i) {
    for (const std::uint32_t chain : {0u, 1u}) {
      program.steps.push_back({.array = i, .loads = program.arrays[i].chain_length(), .chain = chain});
    }
  }
  return program;
}

TEST(ChaseEncoding, FillsAnArrayWithPointers) {
  const EncodedChases chases({walk_over({{.bytes = 1000, .stride_bytes = 64, .skew_bytes = 32},
                                         {.bytes = 4096,
                                          .stride_bytes = 128,
                                          .order = Order::kReversed,
                                          .second_order = Order::kSequential,
                                          .stagger_bytes = 16,
                                          .stagger_window_bytes = 64}})});
  const std::vector<FillTask> fills = chases.fills();
  ASSERT_EQ(fills.size(), 2u);
  EXPECT_EQ(fills[0].address, kBatchBase);
  EXPECT_EQ(fills[0].link_base, kBatchBase);
  EXPECT_EQ(fills[0].stride_bytes, 64u);
  EXPECT_EQ(fills[0].skew_bytes, 32u);
  EXPECT_EQ(fills[0].count, 15u);
  EXPECT_EQ(fills[0].form, LinkForm::kPointer);
  EXPECT_THAT(fills[0].visited, ElementsAre(11, 0)) << "ten, and the one that the last link leads to";
  EXPECT_THAT(fills[0].reversed, ElementsAre(0, 1));
  EXPECT_THAT(fills[0].tables, ElementsAre(0, 0));
  EXPECT_EQ(fills[1].address, kBatchBase + 4096);
  EXPECT_EQ(fills[1].stagger_bytes, 16u);
  EXPECT_EQ(fills[1].stagger_mask, 63u);
  EXPECT_THAT(fills[1].reversed, ElementsAre(1, 0));
  EXPECT_EQ(chases.batch().most_elements, 11u);
  EXPECT_LE(chases.batch().bytes.size(), chases.room());
}

TEST(ChaseEncoding, ShufflesOfOneLengthAndSeedAreStagedOnce) {
  const ChaseArray shuffled{
      .bytes = 1024, .stride_bytes = 64, .order = Order::kShuffled, .second_order = Order::kShuffled, .seed = 5};
  ChaseArray other = shuffled;
  other.seed = 6;
  const EncodedChases chases({walk_all_of({shuffled, other}), walk_all_of({shuffled})});
  const std::vector<FillTask> fills = chases.fills();
  ASSERT_EQ(fills.size(), 3u);
  for (const std::uint32_t chain : {0u, 1u}) {
    EXPECT_EQ(chases.read<std::uint32_t>(fills[0].tables[chain], 16), chain_order(shuffled, chain));
    EXPECT_EQ(chases.read<std::uint32_t>(fills[1].tables[chain], 16), chain_order(other, chain));
    EXPECT_EQ(fills[2].tables[chain], fills[0].tables[chain]);
  }
  EXPECT_EQ(chases.steps()[0].start, kBatchBase + 64 * chain_order(shuffled, 0)[0]);
}

TEST(ChaseEncoding, ListedElementsAreTheOnlyOnesOfTheirChain) {
  ChaseProgram program = walk_over({{.bytes = 4096, .stride_bytes = 64, .elements = {9, 2, 5}}});
  program.steps = {{.loads = 10, .first = 1}, {.loads = 10, .chain = 1}};
  const EncodedChases chases({program});
  const std::vector<FillTask> fills = chases.fills();
  EXPECT_EQ(fills[0].count, 3u);
  EXPECT_THAT(chases.read<std::uint32_t>(fills[0].tables[0], 3), ElementsAre(9, 2, 5));
  EXPECT_THAT(chases.read<std::uint32_t>(fills[0].tables[1], 3), ElementsAre(5, 2, 9));
  EXPECT_EQ(chases.steps()[0].start, kBatchBase + 2 * 64);
  EXPECT_EQ(chases.steps()[1].start, kBatchBase + 5 * 64 + 8) << "the second link of its first element";
}

TEST(ChaseEncoding, TouchesOfAChainAreToldItsOrder) {
  ChaseProgram program = walk_over({{.bytes = 4096, .stride_bytes = 64, .elements = {9, 2, 5}},
                                    {.bytes = 1024, .stride_bytes = 64, .second_order = Order::kShuffled}});
  program.steps = {{.kind = StepKind::kTouchChain, .loads = 2, .first = 1},
                   {.kind = StepKind::kTouchChain, .array = 1, .loads = 5, .chain = 1},
                   {.kind = StepKind::kTouch, .array = 1}};
  const EncodedChases chases({program});
  const std::vector<StepTask> steps = chases.steps();
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(static_cast<StepCode>(steps[0].code % kStepCodes), StepCode::kTouch);
  EXPECT_EQ(steps[0].loads, 2u);
  EXPECT_EQ(steps[0].base, kBatchBase);
  EXPECT_THAT(chases.read<std::uint32_t>(steps[0].table, 2), ElementsAre(2, 5));
  EXPECT_EQ(chases.read<std::uint32_t>(steps[1].table, 5), chain_order(program.arrays[1], 1, 5));
  EXPECT_EQ(steps[2].table, 0u) << "as they lie";
}

TEST(ChaseEncoding, StepsSayWhoLoadsWhat) {
  ChaseProgram program = walk_over({{.bytes = 1024, .stride_bytes = 64, .skew_bytes = 16}});
  program.actors = {{.warp = 2, .lane = 3}, {}};
  program.timed_cap = 4;
  program.steps = {{.loads = 10, .first = 3},
                   {.kind = StepKind::kTimed, .actor = 1, .loads = 7, .chain = 1},
                   {.kind = StepKind::kTouch, .actor = 1},
                   {.kind = StepKind::kTouch, .actor = 1, .loads = 4, .first = 2},
                   {.kind = StepKind::kCounted, .loads = 5, .first = 9},
                   {.kind = StepKind::kPaired, .loads = 5}};
  const EncodedChases chases({program});
  const std::vector<StepTask> steps = chases.steps();
  ASSERT_EQ(steps.size(), 6u);
  const auto kind_of = [&](std::size_t i) { return static_cast<StepCode>(steps[i].code % kStepCodes); };
  EXPECT_EQ(kind_of(0), StepCode::kWarm);
  EXPECT_EQ(steps[0].code / kStepCodes, static_cast<std::uint32_t>(Space::kGlobal));
  EXPECT_EQ(steps[0].thread, 2 * 32 + 3u);
  EXPECT_EQ(steps[0].start, kBatchBase + 3 * 64);
  EXPECT_EQ(steps[0].loads, 10u);
  EXPECT_EQ(steps[0].result, chases.records(0) + sizeof(BlockRecord));
  EXPECT_EQ(kind_of(1), StepCode::kTimed);
  EXPECT_EQ(steps[1].thread, 0u);
  EXPECT_EQ(steps[1].cap, 4u);
  EXPECT_EQ(steps[1].start, kBatchBase + 15 * 64 + 16 + 8) << "the last element, in the upper half";
  EXPECT_EQ(steps[1].result, steps[0].result + sizeof(StepRecord));
  EXPECT_EQ(kind_of(2), StepCode::kTouch);
  EXPECT_EQ(steps[2].loads, 16u);
  EXPECT_EQ(steps[2].base, kBatchBase);
  EXPECT_EQ(steps[2].result, steps[1].result + sizeof(StepRecord) + kHistogramBytes + 4 * 4);
  EXPECT_EQ(steps[3].loads, 4u);
  EXPECT_EQ(steps[3].base, kBatchBase + 2 * 64);
  EXPECT_EQ(kind_of(4), StepCode::kTimed);
  EXPECT_EQ(steps[4].cap, 0u);
  EXPECT_EQ(steps[4].start, kBatchBase + 9 * 64 + 16);
  EXPECT_EQ(kind_of(5), StepCode::kPaired);
  EXPECT_EQ(chases.batch().threads, kTouchThreads);
}

TEST(ChaseEncoding, StoresGoOverTheWholeArray) {
  ChaseProgram program = walk_over({{.space = Space::kGlobalBypassL1, .bytes = 1024, .stride_bytes = 64}});
  program.steps = {{.kind = StepKind::kStore, .loads = 5}};
  const StepTask step = EncodedChases({program}).steps()[0];
  EXPECT_EQ(step.code % kStepCodes, static_cast<std::uint32_t>(StepCode::kStore));
  EXPECT_EQ(step.base, kBatchBase);
  EXPECT_EQ(step.stride_bytes, 64u);
  EXPECT_EQ(step.elements, 16u);
  EXPECT_EQ(step.loads, 5u);
}

TEST(ChaseEncoding, LinksOnTheChipAreOffsetsAndThoseOfTexturesTexels) {
  ChaseProgram program = walk_over({{.space = Space::kConstant, .bytes = 256, .stride_bytes = 64},
                                    {.space = Space::kConstant, .bytes = 256, .stride_bytes = 64},
                                    {.space = Space::kShared, .bytes = 256, .stride_bytes = 64},
                                    {.space = Space::kShared, .bytes = 256, .stride_bytes = 64},
                                    {.space = Space::kTexture, .bytes = 256, .stride_bytes = 64}});
  program.steps = {{.array = 1, .loads = 1, .first = 1},
                   {.array = 3, .loads = 1, .first = 2},
                   {.array = 4, .loads = 1, .chain = 1, .first = 1}};
  const EncodedChases chases({program}, {{.textures = {0, 0, 0, 0, 42}, .wanted_sms = {kAnySm}}});
  const std::vector<FillTask> fills = chases.fills();
  EXPECT_EQ(fills[1].form, LinkForm::kOffset);
  EXPECT_EQ(fills[1].link_base, 256u);
  EXPECT_EQ(fills[1].address, *chases.batch().constants + 256);
  EXPECT_EQ(fills[3].form, LinkForm::kOffset);
  EXPECT_EQ(fills[3].link_base, 256u);
  EXPECT_EQ(fills[4].form, LinkForm::kTexel);
  EXPECT_EQ(fills[4].link_base, 0u);
  EXPECT_EQ(fills[4].address, kBatchBase);
  const std::vector<StepTask> steps = chases.steps();
  EXPECT_EQ(steps[0].start, 256u + 64);
  EXPECT_EQ(steps[1].start, 256u + 2 * 64);
  EXPECT_EQ(steps[2].start, (2u * 64 + 8) / 4) << "reversed, the second link";
  EXPECT_EQ(steps[2].texture, 42u);
  EXPECT_EQ(steps[0].texture, 0u);
  const ChaseTask task = chases.tasks()[0];
  EXPECT_EQ(task.shared_bytes, 512u);
  EXPECT_EQ(task.shared_image, fills[2].address);
  EXPECT_EQ(task.shared_offset, 128u);
}

TEST(ChaseEncoding, AnAliasIsNotFilledAndHasTheSameLinks) {
  ChaseProgram program =
      walk_over({{.bytes = 1024, .stride_bytes = 64}, {.space = Space::kReadOnly, .bytes = 1024, .stride_bytes = 64}});
  program.arrays[1].alias_of = 0;
  program.steps = {{.loads = 1, .first = 4}, {.array = 1, .loads = 1, .first = 4}};
  const EncodedChases chases({program});
  EXPECT_EQ(chases.fills().size(), 1u);
  EXPECT_EQ(chases.steps()[0].start, chases.steps()[1].start);
  EXPECT_EQ(chases.steps()[1].code / kStepCodes, static_cast<std::uint32_t>(Space::kReadOnly));
}

TEST(ChaseEncoding, EachProgramHasDataAndRecordsOfItsOwn) {
  const EncodedChases chases(
      {walk_over({{.bytes = 1024, .stride_bytes = 64}}),
       walk_over({{.bytes = 1024, .stride_bytes = 64}, {.space = Space::kShared, .bytes = 2048, .stride_bytes = 64}})});
  const std::vector<ChaseTask> tasks = chases.tasks();
  ASSERT_EQ(tasks.size(), 2u);
  for (const std::size_t i : {0u, 1u}) {
    EXPECT_EQ(tasks[i].result, chases.records(i));
    EXPECT_EQ(chases.steps(i)[0].start, chases.data(i));
    EXPECT_EQ(tasks[i].step_count, 1u);
    EXPECT_EQ(tasks[i].wanted_sm, kAnySm);
    EXPECT_EQ(tasks[i].turn, 0u);
    EXPECT_EQ(tasks[i].slot, 0u);
    EXPECT_EQ(tasks[i].never, kNever);
    EXPECT_EQ(tasks[i].zero, 0u);
    EXPECT_EQ(tasks[i].dry_passes, 1u);
    EXPECT_EQ(tasks[i].patience_cycles, kBatchPatience);
  }
  EXPECT_EQ(chases.data(1), kBatchBase + 65'536);
  EXPECT_EQ(chases.batch().shared_bytes, 128u + 2048) << "what the hungriest needs";
  EXPECT_THAT(chases.batch().wanted_sms, IsEmpty());
  EXPECT_EQ(chases.batch().constants, std::nullopt);
}

TEST(ChaseEncoding, ProgramsWithEqualConstantsShareTheFirstImage) {
  const ChaseArray constants{.space = Space::kConstant, .bytes = 1024, .stride_bytes = 64};
  const EncodedChases chases(
      {walk_over({{.bytes = 1024, .stride_bytes = 64}}), walk_over({constants}), walk_over({constants})});
  EXPECT_EQ(chases.batch().constants, chases.data(1));
  EXPECT_EQ(chases.steps(1)[0].start, chases.steps(2)[0].start);
}

TEST(ChaseEncoding, ConstantsOfSeveralProgramsLieInOneImage) {
  const auto over = [](std::uint64_t bytes) {
    return walk_over({{.space = Space::kConstant, .bytes = bytes, .stride_bytes = 64}});
  };
  const EncodedChases chases({over(1024), over(2048)});
  const std::vector<FillTask> fills = chases.fills();
  EXPECT_EQ(fills[0].address, *chases.batch().constants);
  EXPECT_EQ(fills[1].address, *chases.batch().constants + 8192);
  EXPECT_EQ(fills[1].link_base, 8192u);
  EXPECT_EQ(chases.steps(0)[0].start, 0u);
  EXPECT_EQ(chases.steps(1)[0].start, 8192u);
}

TEST(ChaseEncoding, NamedSmsHaveATaskEach) {
  ChaseProgram program = walk_over({{.bytes = 1024, .stride_bytes = 64}});
  program.actors = {{.sm = 7}, {.sm = 2}, {.warp = 1, .sm = 7}};
  program.steps = {{.loads = 1}, {.actor = 1, .loads = 1}, {.actor = 2, .loads = 1}};
  const EncodedChases chases({program}, {{.textures = {0}, .wanted_sms = {107, 102}}});
  const std::vector<ChaseTask> tasks = chases.tasks();
  ASSERT_EQ(tasks.size(), 2u);
  EXPECT_EQ(tasks[0].wanted_sm, 107u);
  EXPECT_EQ(tasks[1].wanted_sm, 102u);
  EXPECT_EQ(tasks[0].slot, 0u);
  EXPECT_EQ(tasks[1].slot, 1u);
  EXPECT_EQ(tasks[0].result, chases.records(0));
  EXPECT_EQ(tasks[1].result, chases.records(0) + sizeof(BlockRecord));
  EXPECT_EQ(tasks[0].steps, tasks[1].steps);
  EXPECT_EQ(tasks[0].turn, chases.records(0) + 2 * sizeof(BlockRecord));
  EXPECT_EQ(tasks[1].turn, tasks[0].turn);
  const std::vector<StepTask> steps = chases.steps();
  EXPECT_EQ(steps[0].slot, 0u);
  EXPECT_EQ(steps[1].slot, 1u);
  EXPECT_EQ(steps[2].slot, 0u);
  EXPECT_EQ(steps[2].thread, 32u);
  EXPECT_EQ(steps[0].result, tasks[0].turn + sizeof(Turn));
  EXPECT_THAT(chases.batch().wanted_sms, ElementsAre(102, 107));
}

TEST(ChaseEncoding, TheOneSmThatMayRunItIsWanted) {
  ChaseProgram program = walk_over({{.bytes = 1024, .stride_bytes = 64}});
  program.exclusive = true;
  program.sm = 3;
  const EncodedChases chases({program}, {{.textures = {0}, .wanted_sms = {103}}});
  EXPECT_EQ(chases.tasks()[0].wanted_sm, 103u);
  EXPECT_EQ(chases.tasks()[0].turn, 0u) << "all steps are this block's";
  EXPECT_THAT(chases.batch().wanted_sms, ElementsAre(103));
}

}  // namespace
}  // namespace gputopo::launch
