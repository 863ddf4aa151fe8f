// Arrays in local memory: which programs are valid, where arrays and links lie, and that each lane walks its own chain
// on the fake driver, which runs the PTX on the host.
#include "device/cuda/local_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "device/cuda/chase_ptx.h"
#include "device/cuda/cuda_device.h"
#include "device/launch/chase_encode.h"
#include "gputopo/error.h"
#include "probe/survey/site.h"
#include "support/fake_cuda.h"
#include "support/message_of.h"

namespace gputopo {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

ChaseArray local_array(std::uint64_t bytes, std::uint64_t stride_bytes = kLocalStrideBytes,
                       Order order = Order::kSequential) {
  return {.space = Space::kLocal, .bytes = bytes, .stride_bytes = stride_bytes, .order = order, .seed = 3};
}

ChaseProgram local_chase(std::vector<ChaseArray> arrays) {
  return {.arrays = std::move(arrays), .actors = {{}, {.lane = 1}, {.warp = 1}}, .steps = {{.loads = 16}}};
}

void expect_refused(ChaseProgram program, const char* reason) {
  EXPECT_THAT(test::message_of<UsageError>(reason, [&] { validate(Program(program)); }), HasSubstr(reason));
}

// ---- Programs ----

TEST(LocalPrograms, ComeBackFromText) {
  ChaseProgram program = local_chase({local_array(4096), local_array(1 << 16, 256, Order::kShuffled)});
  program.steps.push_back({.kind = StepKind::kTimed, .actor = 1, .array = 1, .loads = 7, .chain = 1});
  validate(Program(program));
  EXPECT_EQ(parse_program(to_text(program)), Program(program));
  EXPECT_THAT(to_text(program), HasSubstr("array=local:4096:128:"));
}

TEST(LocalPrograms, WalkWholeWordsOfALaneOnly) {
  expect_refused(local_chase({local_array(4096, 64)}), "stride_bytes must be a multiple of 128 in local memory");
  expect_refused(local_chase({local_array(4096, 192)}), "stride_bytes must be a multiple of 128 in local memory");
  ChaseProgram skewed = local_chase({local_array(4096, 256)});
  skewed.arrays[0].skew_bytes = 128;
  expect_refused(skewed, "skew_bytes must be 0 in local memory");
  ChaseProgram staggered = local_chase({local_array(4096, 256)});
  staggered.arrays[0].stagger_bytes = 16;
  staggered.arrays[0].stagger_window_bytes = 256;
  expect_refused(staggered, "stagger_bytes must be 0 in local memory");
}

TEST(LocalPrograms, BelongToOneWarp) {
  ChaseProgram program = local_chase({local_array(4096)});
  program.steps.push_back({.actor = 1, .loads = 4});
  validate(Program(program));
  program.steps.push_back({.actor = 2, .loads = 4});
  expect_refused(program, "arrays[0] must be accessed by only one warp");
  program.steps.back() = {.kind = StepKind::kTouch};
  expect_refused(program, "steps[2].kind must not be touch or touch_chain in local memory");
  program.steps.back() = {.kind = StepKind::kStore, .loads = 4};
  expect_refused(program, "may be store only in the spaces global");
}

TEST(LocalPrograms, TakeAMebibyteAtMost) {
  validate(Program(local_chase({local_array(1 << 19), local_array(1 << 19)})));
  expect_refused(local_chase({local_array((1 << 20) + 128)}), "exceed the 1 MiB");
  expect_refused(local_chase({local_array(1 << 19), local_array(1 << 19), local_array(128)}), "exceed the 1 MiB");
  expect_refused(local_chase({local_array(1ull << 38)}), "exceed the 1 MiB");
}

TEST(LocalPrograms, AreChasesOnly) {
  EXPECT_THAT(test::message_of<UsageError>(
                  "a stream", [] { validate(Program(StreamProgram{.space = Space::kLocal, .bytes = 4096})); }),
              HasSubstr("space must not be local"));
  EXPECT_THROW(validate(Program(AccessProgram{.space = Space::kLocal, .bytes = 4096})), UsageError);
}

// ---- Requests of a probe ----

TEST(LocalSite, StridesAreWhatAThreadReaches) {
  const probe::Site site{.space = Space::kLocal, .limit_bytes = kMaxLocalBytes};
  EXPECT_EQ(make_array(site, 4096, kMinimumStrideBytes).stride_bytes, 128u);
  EXPECT_EQ(make_array(site, 4096, 129).stride_bytes, 256u);
  EXPECT_EQ(make_array(site, 300, 16).bytes, 256u);
  EXPECT_EQ(make_array(site, 8 << 20, 512).bytes, 1u << 20);
  const probe::Site global;
  EXPECT_EQ(make_array(global, 4096, 24).stride_bytes, 24u);
}

// ---- Layout ----

TEST(LocalLayout, ArraysLieOneBehindTheOtherInTheFrame) {
  const launch::ChaseLayout layout = launch::lay_out(
      local_chase({local_array(1000, 128), {.bytes = 8192, .stride_bytes = 64}, local_array(2048)}), 32);
  EXPECT_EQ(layout.arrays[0].space_offset, 0u);
  EXPECT_EQ(layout.arrays[2].space_offset, 1024u);
  EXPECT_EQ(layout.local_bytes, 1024u + 2048u);
  EXPECT_EQ(layout.arrays[2].data_offset, layout.local_image_offset + 1024);
  EXPECT_GE(layout.data_bytes, layout.local_image_offset + layout.local_bytes);
  EXPECT_EQ(
      launch::lay_out({.arrays = {{.bytes = 64, .stride_bytes = 64}}, .actors = {{}}, .steps = {{.loads = 1}}}, 32)
          .local_bytes,
      0u);
}

TEST(LocalEncoding, LinksAreBytesOfAThread) {
  ChaseProgram program = local_chase({local_array(1024), local_array(4096, 256)});
  program.actors = {{.warp = 2, .lane = 6}, {.warp = 2, .lane = 7}};
  program.steps = {{.array = 0, .loads = 1, .first = 3},
                   {.array = 1, .loads = 1, .first = 2},
                   {.array = 1, .loads = 1, .chain = 1, .first = 0},
                   {.actor = 1, .array = 1, .loads = 1}};
  launch::ChasePlan plan{.program = &program, .layout = launch::lay_out(program, 32)};
  const std::vector<launch::ChasePlan*> batch = {&plan};
  const launch::BatchLayout layout = launch::lay_out(batch);
  launch::ChainOrders orders;
  launch::BatchPlace place{.base = 1 << 20, .programs = {{.textures = {0, 0}, .wanted_sms = {launch::kAnySm}}}};
  const launch::EncodedBatch encoded =
      launch::encode(batch, layout, place, launch::stage_tables(batch, orders), orders);
  const auto read = [&]<typename T>(launch::Address at, std::size_t count, T) {
    std::vector<T> values(count);
    std::memcpy(values.data(), encoded.bytes.data() + (at - place.base - layout.staged), count * sizeof(T));
    return values;
  };
  EXPECT_EQ(encoded.local_bytes, 1024u + 4096u);
  const auto fills = read(encoded.fills, 2, launch::FillTask{});
  EXPECT_EQ(fills[1].form, launch::LinkForm::kLocal);
  EXPECT_EQ(fills[1].link_base, 1024u) << "in bytes of a warp, of which the kernel makes those of a thread";
  const launch::ChaseTask task = read(encoded.tasks, 1, launch::ChaseTask{})[0];
  EXPECT_EQ(task.local_count, 8u + 16u);
  const auto words = read(task.local_words, task.local_count, std::uint32_t{});
  EXPECT_EQ(words[3], 3u);
  EXPECT_EQ(words[8 + 2], (1024u + 2 * 256) / 128) << "of every second one where elements are 256 bytes apart";
  EXPECT_EQ(task.local_image, fills[0].address);
  const auto steps = read(task.steps, 4, launch::StepTask{});
  EXPECT_EQ(steps[0].start, 3u * 4);
  EXPECT_EQ(steps[0].thread, 2u * 32 + 6);
  EXPECT_EQ(steps[1].start, (1024u + 2 * 256) / 32);
  EXPECT_EQ(steps[2].start, (1024u + 15 * 256) / 32) << "reversed: from the last element";
  EXPECT_EQ(steps[2].thread, 2u * 32 + 7) << "the odd lane has the second chain";
  EXPECT_EQ(steps[3].thread, 2u * 32 + 6) << "whichever of the two is named";
}

TEST(LocalFrames, AreOfAFewSizes) {
  EXPECT_EQ(cuda::local_frame_bytes(128), 2048u);
  EXPECT_EQ(cuda::local_frame_bytes(64 << 10), 2048u);
  EXPECT_EQ(cuda::local_frame_bytes((64 << 10) + 128), 4096u);
  EXPECT_EQ(cuda::local_frame_bytes(kMaxLocalBytes), 32u << 10);
}

// 32 KiB for each of 2048 threads on 132 SMs are 8.25 GiB.
TEST(LocalFrames, NeedMemoryForEveryThread) {
  DeviceInfo info;
  info.sm_count = 132;
  info.max_threads_per_sm = 2048;
  cuda::require_room_for_frames(info, kMaxLocalBytes);  // the free memory is not known
  info.memory_free_bytes = std::uint64_t{132} * 2048 * (32 << 10);
  cuda::require_room_for_frames(info, kMaxLocalBytes);
  *info.memory_free_bytes -= 1;
  EXPECT_THAT(test::message_of<NotSupportedError>(
                  "no room", [&] { cuda::require_room_for_frames(info, (kMaxLocalBytes / 2) + 128); }),
              HasSubstr("takes 8858370048 bytes in total, but only 8858370047 bytes were free"));
  cuda::require_room_for_frames(info, kMaxLocalBytes / 2);
}

TEST(LocalPtx, IsInKernelsOfItsOwn) {
  const cuda::PtxTarget target{7, 8, 90};
  EXPECT_THAT(cuda::generate_chase_ptx(target), Not(HasSubstr("ld.local")));
  EXPECT_THAT(cuda::generate_chase_ptx(target), Not(HasSubstr(".local ")));
  const std::string local = cuda::generate_local_chase_ptx(target, 4096);
  EXPECT_THAT(local, HasSubstr("local_frame[4096]"));
  EXPECT_THAT(local, HasSubstr("@%live ld.local.u32 %link, [%link];"));
}

// ---- On the fake driver ----

class LocalChases : public ::testing::Test {
 protected:
  ChaseResult run(const Program& program) { return std::get<ChaseResult>(device_->run({&program, 1}).front().data); }

  test::FakeCuda fake_;
  std::unique_ptr<Device> device_ = open_cuda_device(0);
};

// The kernel reports a chain that leaves its array, and the fake driver an access outside the frame. Two rounds of both
// chains in every order show that all links are right.
TEST_F(LocalChases, StayInTheirArray) {
  for (const Order order : {Order::kSequential, Order::kReversed, Order::kShuffled}) {
    for (const std::uint64_t bytes : {std::uint64_t{4096}, std::uint64_t{96} << 10}) {
      ChaseProgram program = local_chase({local_array(1280), local_array(bytes, 256, order)});
      program.arrays[1].second_order = Order::kShuffled;
      program.actors = {{.warp = 1, .lane = 5}};
      const std::uint64_t count = program.arrays[1].element_count();
      program.steps = {{.array = 1, .loads = 2 * count + 3, .first = 5},
                       {.array = 1, .loads = 2 * count + 3, .chain = 1, .first = 5},
                       {.kind = StepKind::kTimed, .array = 1, .loads = count, .chain = 1, .first = count - 1},
                       {.kind = StepKind::kCounted, .array = 0, .loads = 30}};
      program.timed_cap = 8;
      const ChaseResult result = run(program);
      EXPECT_EQ(result.steps[2].latencies.size(), 8u);
      EXPECT_THAT(result.steps[2].latencies, Each(result.steps[2].latencies.front())) << "the fake's are all alike";
    }
  }
}

TEST_F(LocalChases, GoBesideArraysOfOtherSpaces) {
  ChaseProgram program = local_chase({local_array(2048),
                                      {.space = Space::kConstant, .bytes = 2048, .stride_bytes = 64},
                                      {.bytes = 2048, .stride_bytes = 64},
                                      {.space = Space::kShared, .bytes = 2048, .stride_bytes = 64}});
  program.arrays[0].elements = {15, 2, 9};
  program.steps.clear();
  for (std::uint32_t i = 0; i < 4; ++i) program.steps.push_back({.kind = StepKind::kCounted, .array = i, .loads = 70});
  const ChaseResult result = run(program);
  ASSERT_EQ(result.steps.size(), 4u);
  for (const StepResult& step : result.steps) EXPECT_EQ(step.loads, 70u);
}

}  // namespace
}  // namespace gputopo
