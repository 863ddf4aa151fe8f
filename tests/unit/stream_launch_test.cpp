// Launches of streams without a GPU: the memory that each vendor's launches cover, their parameters, and their times.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/cuda/streams.h"
#include "device/hip/streams.h"
#include "device/launch/stream_span.h"
#include "gputopo/error.h"

namespace gputopo {
namespace {

using launch::BlockRecord;

constexpr std::uint64_t kStreamPage = 2ull << 20;
constexpr launch::Address kStreamBase = 0x10'000'000;

// ---- common to both vendors ----

TEST(StreamLayout, ACopyWritesToTilesAgainAndAgain) {
  StreamProgram program{.op = StreamOp::kCopy, .bytes = 100'000};
  EXPECT_EQ(launch::target_tiles_of(program, 4096, 24), 24u);
  program.write_span_bytes = 10'000;
  EXPECT_EQ(launch::target_tiles_of(program, 4096, 24), 2u);
  program.write_span_bytes = 4095;
  EXPECT_THROW(static_cast<void>(launch::target_tiles_of(program, 4096, 24)), NotSupportedError);
}

TEST(StreamLayout, LaunchesLastASecondOrAPass) {
  EXPECT_EQ(launch::launch_passes_for(0.1), 10u);
  EXPECT_EQ(launch::launch_passes_for(1.5), 1u);
  EXPECT_EQ(launch::launch_passes_for(0), UINT32_MAX);
}

// Two blocks on SM 0 and one on SM 1, whose cycle counters have different origins.
const std::vector<BlockRecord> kStreamBlocks = {
    {.start_cycles = 1000, .end_cycles = 3'000'000, .start_ns = 500, .end_ns = 2'000'500, .sm = 0},
    {.start_cycles = 900, .end_cycles = 2'000'000, .start_ns = 400, .end_ns = 1'500'000, .sm = 0},
    {.start_cycles = 70'000'000, .end_cycles = 72'000'000, .start_ns = 450, .end_ns = 2'000'900, .sm = 1}};

TEST(StreamSpan, IsOfTheSlowestSmAndOfAll) {
  const launch::StreamSpan span = launch::span_of(kStreamBlocks, 1500);
  EXPECT_DOUBLE_EQ(span.cycles, 3'000'000 - 900);
  EXPECT_DOUBLE_EQ(span.seconds, (2'000'900 - 400) * 1e-9);
}

TEST(StreamSpan, ComesFromTheCyclesWhereTheSharedClockIsTooCoarse) {
  std::vector<BlockRecord> blocks = {kStreamBlocks[0]};
  blocks[0].end_ns = 1'000'499;
  EXPECT_DOUBLE_EQ(launch::span_of(blocks, 1500).seconds, 2'999'000 / 1500e6);
}

TEST(StreamResult, IsOfWhatWasAskedForAtTheRateOfWhatWasMoved) {
  launch::StreamLayout layout;
  layout.pass_bytes = 4096;
  layout.passes = 10;
  layout.wanted_bytes = 20'480;
  const StreamResult result = launch::result_of(layout, {.cycles = 1000, .seconds = 2});
  EXPECT_EQ(result.bytes_moved, 20'480u);
  EXPECT_DOUBLE_EQ(result.seconds, 1);
  EXPECT_DOUBLE_EQ(result.cycles, 500);
}

// ---- NVIDIA ----

cuda::Streams::Layout cuda_layout(const StreamProgram& program, std::uint32_t blocks, std::uint32_t sm_count) {
  return cuda::Streams::lay_out(program, cuda::Streams::shape_of(program), blocks, sm_count);
}

TEST(CudaStreams, ShapesAreOfTheWholeBlock) {
  StreamProgram program{.bytes = 1003, .per_block = true, .threads_per_block = 64, .vector_bytes = 8};
  EXPECT_EQ(cuda::Streams::shape_of(program).slice_bytes, 1000u);
  program.per_block = false;
  EXPECT_EQ(cuda::Streams::shape_of(program).slice_bytes, 0u);
  program.space = Space::kConstant;
  EXPECT_EQ(cuda::Streams::shape_of(program).slice_bytes, 1000u) << "each block goes over the bank by itself";
}

TEST(CudaStreams, ShareAnArrayTileByTile) {
  // 8 accesses of 32 threads of 16 bytes.
  const StreamProgram program{.bytes = 10 * 4096 + 100, .threads_per_block = 32, .repeats = 7};
  const auto layout = cuda_layout(program, 8, 4);
  EXPECT_EQ(layout.blocks, 8u);
  EXPECT_EQ(layout.footprint, 10u * 4096 + 96);
  EXPECT_EQ(layout.array_bytes, kStreamPage);
  EXPECT_EQ(layout.tiles, 10u);
  EXPECT_EQ(layout.target_tiles, 10u);
  EXPECT_EQ(layout.pass_bytes, 10u * 4096 + 96);
  EXPECT_EQ(layout.wanted_bytes, 7 * layout.pass_bytes);
  EXPECT_EQ(layout.passes, 7u);
  EXPECT_EQ(layout.warm_passes, 1u);
  EXPECT_EQ(layout.memory_bytes(), kStreamPage + 8 * 48);
  const cuda::StreamParameters parameters = cuda::Streams::encode(layout, kStreamBase, 0, 5);
  EXPECT_EQ(parameters.source, kStreamBase);
  EXPECT_EQ(parameters.records, kStreamBase + kStreamPage);
  EXPECT_EQ(parameters.rounds, 5u);
  EXPECT_EQ(parameters.tiles, 10u);
  EXPECT_EQ(parameters.visits, 50u);
  EXPECT_EQ(parameters.step, 8u);
  EXPECT_EQ(parameters.shift, 3u) << "half the SMs and one";
  EXPECT_EQ(parameters.step_shift, 0u) << "no whole round in a step";
  EXPECT_EQ(parameters.rest_vectors, 6u);
  EXPECT_EQ(cuda::Streams::encode(cuda_layout(program, 23, 4), kStreamBase, 0, 5).step_shift, 6u) << "two rounds";
}

TEST(CudaStreams, GoOverSlicesOfTheirOwn) {
  // Two vectors per thread, so a body of 8 accesses makes four passes.
  const StreamProgram program{
      .op = StreamOp::kCopy, .bytes = 1024, .per_block = true, .threads_per_block = 32, .repeats = 10};
  const auto layout = cuda_layout(program, 6, 4);
  EXPECT_EQ(layout.arrays, 2u);
  EXPECT_EQ(layout.footprint, 6u * 1024);
  EXPECT_EQ(layout.pass_bytes, 2u * 6 * 1024);
  EXPECT_EQ(layout.warm_passes, 4u);
  const cuda::StreamParameters parameters = cuda::Streams::encode(layout, kStreamBase, 0, 10);
  EXPECT_EQ(parameters.target_delta, kStreamPage);
  EXPECT_EQ(parameters.records, kStreamBase + 2 * kStreamPage);
  EXPECT_EQ(parameters.rounds, 2u);
  EXPECT_EQ(parameters.singles, 2u);
  EXPECT_EQ(parameters.tiles, 0u);
}

TEST(CudaStreams, OnTheChipTakeNoMemory) {
  const StreamProgram program{
      .op = StreamOp::kCopy, .space = Space::kShared, .bytes = 1024, .per_block = true, .threads_per_block = 32};
  const auto layout = cuda_layout(program, 4, 4);
  EXPECT_EQ(layout.array_bytes, 0u);
  EXPECT_EQ(layout.memory_bytes(), 4u * 48);
  EXPECT_EQ(cuda::Streams::encode(layout, kStreamBase, 0, 1).target_delta, 1024u) << "behind the slice that is read";
  EXPECT_EQ(cuda::Streams::launch_of(program, layout.shape).shared_bytes, 2048u);
}

TEST(CudaStreams, PassesThatMayTakeTooLongAreRefused) {
  const StreamProgram program{.bytes = 150ull << 30, .threads_per_block = 1024};
  EXPECT_NO_THROW(static_cast<void>(cuda_layout(program, 132, 132)));
  EXPECT_THROW(static_cast<void>(cuda_layout(program, 8, 8)), UsageError) << "a small GPU's memory";
  const StreamProgram slices{.bytes = 3ull << 30, .per_block = true};
  EXPECT_THROW(cuda::Streams::check(slices, cuda::Streams::shape_of(slices)), UsageError);
}

TEST(CudaStreams, LaunchesAreCountedBeforehand) {
  // At least 20 GB/s.
  const StreamProgram program{.bytes = 2'000'000'000, .threads_per_block = 1024, .repeats = 100};
  EXPECT_EQ(cuda_layout(program, 8, 8).launch_passes, 10u);
  EXPECT_EQ(cuda_layout(program, 132, 132).launch_passes, 50u);
}

// ---- AMD ----

hip::Streams::Layout hip_layout(const StreamProgram& program, std::uint32_t blocks, std::uint32_t sm_count) {
  return hip::Streams::lay_out(program, hip::Streams::shape_of(program), blocks, sm_count);
}

TEST(HipStreams, ShareAnArrayTileByTile) {
  // 4 accesses of 64 threads of 16 bytes.
  const StreamProgram program{.op = StreamOp::kCopy, .bytes = 10 * 4096 + 100, .threads_per_block = 100, .repeats = 7};
  const auto layout = hip_layout(program, 104, 104);
  EXPECT_EQ(layout.threads, 64u) << "whole wavefronts";
  EXPECT_EQ(layout.tiles, 10u);
  EXPECT_EQ(layout.blocks, 10u) << "no more than tiles";
  EXPECT_EQ(layout.wrap, 4096u);
  EXPECT_EQ(layout.shift, 3u) << "half the CUs and one, modulo the tiles";
  EXPECT_EQ(layout.array_bytes, kStreamPage);
  EXPECT_EQ(layout.pass_bytes, 2u * 10 * 4096);
  EXPECT_EQ(layout.wanted_bytes, 2u * (10 * 4096 + 96) * 7);
  EXPECT_EQ(layout.passes, 7u);
  EXPECT_EQ(layout.launch_passes, 0u) << "shows in the untimed pass";
  const hip::StreamParameters parameters = hip::Streams::encode(layout, kStreamBase, 0, 5);
  EXPECT_EQ(parameters.source, kStreamBase);
  EXPECT_EQ(parameters.target, kStreamBase + kStreamPage);
  EXPECT_EQ(parameters.records, kStreamBase + 2 * kStreamPage);
  EXPECT_EQ(parameters.slice_bytes, 0u);
  EXPECT_EQ(parameters.passes, 5u);
  EXPECT_EQ(parameters.blocks, 10u);
  EXPECT_EQ(parameters.never, launch::kNever);
}

TEST(HipStreams, MoveSmallArraysSeveralTimesByOneTile) {
  const StreamProgram program{.bytes = 1000, .per_block = true, .threads_per_block = 64, .repeats = 100};
  const auto layout = hip_layout(program, 104, 104);
  EXPECT_EQ(layout.blocks, 104u);
  EXPECT_EQ(layout.slice_bytes, 992u);
  EXPECT_EQ(layout.tiles, 1u);
  EXPECT_EQ(layout.wrap, 992u);
  EXPECT_EQ(layout.pass_bytes, 4096u * 104);
  EXPECT_EQ(layout.wanted_bytes, 992ull * 104 * 100);
  EXPECT_EQ(layout.passes, 24u);
}

TEST(HipStreams, ScalarLoadsAreOfWavefronts) {
  const StreamProgram program{.space = Space::kScalar, .bytes = 8192, .per_block = true, .threads_per_block = 256};
  const auto layout = hip_layout(program, 104, 104);
  EXPECT_EQ(layout.tiles, 8192u / (4 * 16 * 4));
  StreamProgram less = program;
  less.bytes = 48;
  EXPECT_THROW(hip::Streams::check(less, hip::Streams::shape_of(less)), NotSupportedError);
}

TEST(HipStreams, HaveAsMuchInFlightAsRegistersHold) {
  const StreamProgram program{.bytes = 8192, .vector_bytes = 16, .loads_in_flight = 32};
  EXPECT_EQ(hip::Streams::shape_of(program).loads_in_flight, 8u);
  const StreamProgram texture{.space = Space::kTexture, .bytes = 8192};
  EXPECT_THROW(hip::Streams::check(texture, hip::Streams::shape_of(texture)), NotSupportedError);
}

TEST(HipStreams, OnTheChipTakeLds) {
  const StreamProgram program{
      .op = StreamOp::kCopy, .space = Space::kShared, .bytes = 1000, .per_block = true, .threads_per_block = 64};
  const auto shape = hip::Streams::shape_of(program);
  EXPECT_EQ(hip::Streams::launch_of(program, shape).shared_bytes, 2u * 992);
  EXPECT_EQ(hip_layout(program, 104, 104).array_bytes, 0u);
}

}  // namespace
}  // namespace gputopo
