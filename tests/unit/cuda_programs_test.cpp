// The CUDA device on a fake driver, which runs the generated PTX on the host and refuses accesses outside allocations.
// Tests the kernels, the memory layout and the packing of programs into launches without a GPU.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "device/cuda/cuda_device.h"
#include "device/cuda/kernel_layout.h"
#include "device/cuda/streams.h"
#include "support/fake_cuda.h"

namespace gputopo {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

ChaseArray array_of(Space space, std::uint64_t bytes, Order order = Order::kSequential) {
  return {
      .space = space, .bytes = bytes, .stride_bytes = 64, .order = order, .second_order = Order::kShuffled, .seed = 7};
}

std::uint64_t histogram_total(const StepResult& step) {
  return std::accumulate(step.histogram.begin(), step.histogram.end(), std::uint64_t{0});
}

class CudaPrograms : public ::testing::Test {
 protected:
  ProgramResult run(const Program& program) { return device_->run({&program, 1}).front(); }
  ChaseResult run_chase(const ChaseProgram& program) { return std::get<ChaseResult>(run(program).data); }

  // Expects that the last kernel accessed every word of an array equally often.
  static void expect_even_coverage(bool stores, std::uint64_t bytes) {
    void* library = dlopen(GPUTOPO_FAKE_LIBCUDA, RTLD_NOW | RTLD_NOLOAD);
    using Coverage = void(bool, std::size_t, std::size_t*, std::uint64_t*, std::uint64_t*);
    auto* const coverage = reinterpret_cast<Coverage*>(dlsym(library, "fakeCudaCoverage"));
    std::size_t covered = 0;
    std::uint64_t least = 0;
    std::uint64_t most = 0;
    coverage(stores, bytes / 4, &covered, &least, &most);
    dlclose(library);
    EXPECT_EQ(covered, bytes / 4);
    EXPECT_EQ(least, most);
  }

  test::FakeCuda fake_;
  std::unique_ptr<Device> device_ = open_cuda_device(0);
};

TEST_F(CudaPrograms, DescribesTheDevice) {
  const DeviceInfo& info = device_->info();
  EXPECT_EQ(info.backend, "cuda");
  EXPECT_FALSE(info.simulated);
  EXPECT_EQ(info.name, "Fake GPU");
  EXPECT_EQ(info.architecture, "Hopper");
  EXPECT_EQ(info.driver_version, "CUDA 13.0");
  EXPECT_EQ(info.sm_count, 4u);
  EXPECT_EQ(info.sm_clock_max_mhz, 1500.0);
  EXPECT_EQ(info.mig_enabled, std::nullopt);
  EXPECT_EQ(info.carve_outs_bytes.back(), 228u * 1024);
  EXPECT_LE(info.max_array_bytes, *info.memory_free_bytes);
}

TEST_F(CudaPrograms, EveryOpenCanBeClosedAndRepeated) {
  for (int i = 0; i < 3; ++i) {
    device_.reset();
    device_ = open_cuda_device(0);
    EXPECT_EQ(
        run_chase({.arrays = {array_of(Space::kGlobal, 1024)}, .actors = {{}}, .steps = {{.loads = 4}}}).steps.size(),
        1u);
  }
}

class CudaSpaces : public CudaPrograms, public ::testing::WithParamInterface<Space> {};

// The kernel reports a chain that leaves its array, and the fake driver an access outside allocations. So a chain that
// runs twice around in both orders, with a skew, shows that all links are right.
TEST_P(CudaSpaces, ChainsStayInTheirArray) {
  for (const Order order : {Order::kSequential, Order::kReversed, Order::kShuffled}) {
    ChaseProgram program{.arrays = {array_of(GetParam(), 4096, order), array_of(GetParam(), 1024)},
                         .actors = {{.warp = 1, .lane = 5}}};
    program.arrays[0].skew_bytes = 32;
    const std::uint64_t count = program.arrays[0].element_count();
    program.steps = {
        {.kind = StepKind::kTouch, .array = 0},
        {.kind = StepKind::kWarm, .array = 0, .loads = 2 * count + 3, .chain = 0, .first = 5},
        {.kind = StepKind::kWarm, .array = 0, .loads = 2 * count + 3, .chain = 1, .first = 5},
        {.kind = StepKind::kTimed, .array = 0, .loads = 2 * count, .chain = 1, .first = count - 1},
        {.kind = StepKind::kCounted, .array = 1, .loads = 40, .chain = 0, .first = 0},
    };
    program.timed_cap = 10;
    const ChaseResult result = run_chase(program);
    ASSERT_EQ(result.steps.size(), 5u);
    EXPECT_EQ(result.steps[0].loads, count);
    EXPECT_TRUE(result.steps[0].histogram.empty());
    EXPECT_GT(result.steps[0].total_cycles, 0u);
    EXPECT_EQ(result.steps[1].loads, 2 * count + 3);
    EXPECT_GT(result.steps[1].total_cycles, 30 * result.steps[1].loads);
    EXPECT_LT(result.steps[1].total_cycles, 300 * result.steps[1].loads);
    EXPECT_TRUE(result.steps[1].latencies.empty());
    EXPECT_EQ(histogram_total(result.steps[3]), 2 * count);
    EXPECT_EQ(result.steps[3].latencies.size(), 10u);
    EXPECT_EQ(histogram_total(result.steps[4]), 40u);
    EXPECT_TRUE(result.steps[4].latencies.empty());
    // All loads of the fake take the same time, and the latencies are those of the histogram.
    const std::uint32_t latency = result.steps[3].latencies.front();
    EXPECT_THAT(result.steps[3].latencies, Each(latency));
    EXPECT_EQ(result.steps[3].histogram.size(), latency / kHistogramBinCycles + 1);
    EXPECT_GE(latency, 30u);
  }
}

TEST_P(CudaSpaces, StreamsReadAllAndEachWordAsOften) {
  for (const std::uint32_t vector : {4u, 8u, 16u}) {
    for (const bool per_block : {false, true}) {
      if (!per_block && (GetParam() == Space::kShared || GetParam() == Space::kConstant)) continue;
      StreamProgram program{
          .space = GetParam(), .bytes = 20 * 1024 + 16, .per_block = per_block, .threads_per_block = 64};
      program.vector_bytes = vector;
      program.repeats = 3;
      const ProgramResult result = run(program);
      const StreamResult& stream = std::get<StreamResult>(result.data);
      const std::uint64_t blocks = per_block || GetParam() == Space::kConstant ? device_->info().sm_count : 1;
      EXPECT_EQ(stream.bytes_moved, 3 * program.bytes * blocks);
      EXPECT_GT(stream.seconds, 0);
      EXPECT_GT(stream.cycles, 0);
      EXPECT_NEAR(result.sm_clock_mhz, 1500, 75);
      if (GetParam() == Space::kShared || GetParam() == Space::kConstant) continue;
      expect_even_coverage(false, program.bytes * blocks);
    }
  }
}

// local_memory_test.cpp tests local memory, which has its own rules.
constexpr Space kOtherSpaces[] = {Space::kGlobal,  Space::kGlobalBypassL1, Space::kReadOnly,
                                  Space::kTexture, Space::kConstant,       Space::kShared};
INSTANTIATE_TEST_SUITE_P(All, CudaSpaces, ::testing::ValuesIn(kOtherSpaces),
                         [](const auto& space) { return std::string(to_string(space.param)); });

TEST_F(CudaPrograms, AliasesSeeTheSameMemory) {
  ChaseProgram program{.arrays = {array_of(Space::kGlobal, 2048), array_of(Space::kReadOnly, 2048)}, .actors = {{}}};
  program.arrays[1].alias_of = 0;
  program.steps = {{.kind = StepKind::kWarm, .array = 0, .loads = 32},
                   {.kind = StepKind::kTimed, .array = 1, .loads = 32}};
  EXPECT_EQ(run_chase(program).steps[1].latencies.size(), 32u);
}

TEST_F(CudaPrograms, ResultsComeInTheOrderOfThePrograms) {
  std::vector<Program> programs;
  for (std::uint64_t i = 1; i <= 11; ++i) {
    ChaseProgram program{.arrays = {array_of(Space::kGlobal, 1024 * i)}, .actors = {{}}, .steps = {{.loads = 10 * i}}};
    if (i % 3 == 0) program.arrays.push_back(array_of(Space::kConstant, 1024 * (i / 3)));
    program.exclusive = i % 4 == 0;
    programs.push_back(program);
    if (i == 5) programs.push_back(StreamProgram{.bytes = 4096, .threads_per_block = 32});
  }
  const auto results = device_->run(programs);
  ASSERT_EQ(results.size(), programs.size());
  for (std::size_t i = 0; i < programs.size(); ++i) {
    ASSERT_EQ(results[i].data.index(), programs[i].index());
    if (const auto* chase = std::get_if<ChaseResult>(&results[i].data)) {
      EXPECT_EQ(chase->steps[0].loads, std::get<ChaseProgram>(programs[i]).steps[0].loads);
    }
  }
}

TEST_F(CudaPrograms, SideBySideMeansOnDifferentSms) {
  const ChaseProgram program{.arrays = {array_of(Space::kGlobal, 1024)}, .actors = {{}}, .steps = {{.loads = 10}}};
  const std::vector<Program> programs(4, program);
  std::set<std::uint32_t> sms;
  for (const ProgramResult& result : device_->run(programs)) sms.insert(std::get<ChaseResult>(result.data).sm);
  EXPECT_THAT(sms, ElementsAre(0, 1, 2, 3));
}

// One program of each kind that the fake driver runs.
std::vector<Program> one_of_each_kind() {
  return {ChaseProgram{.arrays = {array_of(Space::kGlobal, 1024)}, .actors = {{}}, .steps = {{.loads = 10}}},
          StreamProgram{.bytes = 65536, .threads_per_block = 32},
          InstructionProgram{.actors = {{}}, .steps = {{.count = 64}}}, AccessProgram{.bytes = 1024, .accesses = 16}};
}

TEST_F(CudaPrograms, AnswersSayWhenTheyStarted) {
  const std::vector<Program> programs = one_of_each_kind();
  double previous = 0;
  for (int i = 0; i < 2; ++i) {
    for (const ProgramResult& result : device_->run(programs)) {
      EXPECT_GT(result.started_seconds, previous) << result.data.index();
      EXPECT_TRUE(result.undisturbed) << result.data.index();
      previous = result.started_seconds;
    }
  }
}

TEST_F(CudaPrograms, AClockThatWasHeldDownIsADisturbance) {
  for (const ProgramResult& result : device_->run(one_of_each_kind())) EXPECT_TRUE(result.undisturbed);
  const test::FakeCuda slow("slow");
  for (const ProgramResult& result : device_->run(one_of_each_kind())) {
    EXPECT_NEAR(result.sm_clock_mhz, 750, 40);
    EXPECT_FALSE(result.undisturbed) << result.data.index();
  }
}

TEST_F(CudaPrograms, TheWantedSmRunsIt) {
  ChaseProgram program{
      .arrays = {array_of(Space::kShared, 1024)}, .actors = {{}}, .steps = {{.loads = 10}}, .exclusive = true};
  program.sm = 2;
  EXPECT_EQ(run_chase(program).sm, 2u);
  program.sm = 99;
  EXPECT_THROW(static_cast<void>(run(program)), NotSupportedError);
}

TEST_F(CudaPrograms, CarveOutIsTheNextThatFits) {
  ChaseProgram program{
      .arrays = {array_of(Space::kGlobal, 1024)}, .actors = {{}}, .steps = {{.kind = StepKind::kCounted, .loads = 10}}};
  EXPECT_EQ(run(program).shared_carve_out_bytes, 8u * 1024);  // a histogram and the driver's reserve
  program.steps[0].kind = StepKind::kTimed;
  program.steps[0].loads = 4000;
  EXPECT_EQ(run(program).shared_carve_out_bytes, 16u * 1024);  // plus 1024 latencies
  program.shared_carve_out_bytes = 70 * 1024;
  EXPECT_EQ(run(program).shared_carve_out_bytes, 100u * 1024);
  program.arrays = {array_of(Space::kShared, 120 * 1024)};
  EXPECT_EQ(run(program).shared_carve_out_bytes, 132u * 1024);
  program.arrays = {array_of(Space::kShared, 300 * 1024)};
  EXPECT_THROW(static_cast<void>(run(program)), NotSupportedError);
}

TEST_F(CudaPrograms, WritesAndCopiesMoveTheirBytes) {
  for (const Space space : {Space::kGlobal, Space::kGlobalBypassL1, Space::kShared}) {
    for (const StreamOp op : {StreamOp::kWrite, StreamOp::kCopy}) {
      const StreamProgram program{
          .op = op, .space = space, .bytes = 8192 + 48, .per_block = space == Space::kShared, .threads_per_block = 64};
      const auto stream = std::get<StreamResult>(run(program).data);
      const std::uint64_t blocks = program.per_block ? device_->info().sm_count : 1;
      EXPECT_EQ(stream.bytes_moved, program.bytes * blocks * (op == StreamOp::kCopy ? 2 : 1));
      if (space == Space::kShared) continue;
      expect_even_coverage(true, program.bytes);
      if (op == StreamOp::kCopy) expect_even_coverage(false, program.bytes);
    }
  }
}

TEST_F(CudaPrograms, ACopyWritesToItsSpanAgainAndAgain) {
  const std::uint64_t tile = cuda::stream_tile_bytes({.op = StreamOp::kCopy, .threads_per_block = 32});
  const StreamProgram program{.op = StreamOp::kCopy,
                              .bytes = 9 * tile + 80,
                              .write_span_bytes = 3 * tile + 16,
                              .threads_per_block = 32,
                              .repeats = 2};
  EXPECT_EQ(std::get<StreamResult>(run(program).data).bytes_moved, 2u * 2 * 9 * tile) << "whole tiles";
  expect_even_coverage(false, 9 * tile);
  expect_even_coverage(true, 3 * tile);
  StreamProgram too_short = program;
  too_short.write_span_bytes = tile - 16;
  EXPECT_THROW(static_cast<void>(run(too_short)), NotSupportedError);
}

TEST_F(CudaPrograms, ManyPassesOverAnArrayOfFewTilesAreEven) {
  // More blocks than tiles, as many, and a rest behind the last tile, for several passes.
  const std::uint64_t tile = cuda::stream_tile_bytes({.threads_per_block = 32});
  for (const std::uint64_t tiles : {1, 2, 3, 4, 5, 8, 9, 16, 31}) {
    for (const std::uint32_t repeats : {1u, 2u, 7u}) {
      static_cast<void>(run(StreamProgram{
          .space = Space::kGlobalBypassL1, .bytes = tiles * tile + 80, .threads_per_block = 32, .repeats = repeats}));
      expect_even_coverage(false, tiles * tile + 80);
    }
  }
}

TEST_F(CudaPrograms, ALaunchThatWouldTakeTooLongIsRefused) {
  const ChaseProgram program{
      .arrays = {array_of(Space::kGlobal, 1024)}, .actors = {{}}, .steps = {{.loads = 1'000'000'000}}};
  EXPECT_THROW(static_cast<void>(run(program)), UsageError);
}

TEST_F(CudaPrograms, NativeCodeIsTheModule) {
  EXPECT_THAT(device_->native_code(ChaseProgram{}), ::testing::HasSubstr(".target sm_90"));
  EXPECT_THAT(device_->native_code(StreamProgram{.bytes = 4096}), ::testing::HasSubstr(".entry stream"));
}

}  // namespace
}  // namespace gputopo
