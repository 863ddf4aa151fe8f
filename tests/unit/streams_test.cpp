// The streams that measure bandwidth, on a simulated H200.
#include "probe/bandwidth/streams.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/sim/machine_file.h"
#include "device/sim/sim_device.h"

namespace gputopo::probe {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::SizeIs;

constexpr std::uint64_t kKiB = 1024;

// A cache of a space, as a survey shows it.
class Streams : public ::testing::Test {
 protected:
  [[nodiscard]] Cache cache(Space space, std::uint64_t fits_bytes, std::uint64_t nearer_bytes = 0) {
    survey_.site = {.space = space, .exclusive = space == Space::kGlobalBypassL1};
    return {.survey = &survey_, .fits_bytes = fits_bytes, .nearer_bytes = nearer_bytes};
  }

  std::unique_ptr<Device> device_ = sim::make_sim_device(sim::parse_machine(*sim::builtin_machine("h200")), 1);
  DeviceSession session_{*device_, {}};
  ProbeRunner runner_{session_};
  Survey survey_;
};

std::vector<std::string> texts_of(const std::vector<StreamProgram>& programs) {
  std::vector<std::string> texts;
  for (const StreamProgram& program : programs) texts.push_back(to_text(program));
  return texts;
}

TEST_F(Streams, OfACacheOfAnSmCoverHalfOfWhatFitsInEveryShape) {
  const auto programs = cache_streams(runner_, cache(Space::kGlobal, 210 * kKiB), StreamOp::kRead);
  ASSERT_THAT(programs, SizeIs(6));
  EXPECT_THAT(programs, Each(AllOf(Field(&StreamProgram::space, Space::kGlobal), Field(&StreamProgram::per_block, true),
                                   Field(&StreamProgram::op, StreamOp::kRead))));
  // 64 KiB per SM, whatever the number of its blocks.
  for (const StreamProgram& program : programs) {
    EXPECT_EQ(program.bytes * program.blocks_per_sm, 64 * kKiB);
    EXPECT_EQ(program.repeats, static_cast<std::uint32_t>(64e6 / static_cast<double>(program.bytes)));
  }
  EXPECT_EQ(programs.front().loads_in_flight, 4u);
  EXPECT_EQ(programs[1].loads_in_flight, 8u);
  EXPECT_EQ(programs.back().threads_per_block, 512u);
}

// A warp of 16 B loads takes 512 B, which the next cache would serve.
TEST_F(Streams, OfATinyCacheFitInIt) {
  for (const std::uint64_t fits : {128u, 256u, 384u, 768u, 1024u}) {
    for (const StreamProgram& program : cache_streams(runner_, cache(Space::kGlobal, fits), StreamOp::kRead)) {
      EXPECT_LE(program.bytes * program.blocks_per_sm, fits);
    }
  }
  EXPECT_THROW(static_cast<void>(cache_streams(runner_, cache(Space::kGlobal, 64), StreamOp::kRead)), Inconclusive);
}

// Most caches of an SM write stores through, so all SMs write to one array, too.
TEST_F(Streams, OfWritesToACacheOfAnSmAreTogetherToo) {
  const auto programs = cache_streams(runner_, cache(Space::kGlobal, 210 * kKiB), StreamOp::kWrite);
  ASSERT_THAT(programs, SizeIs(8));
  for (const StreamProgram& program : {programs[6], programs[7]}) {
    EXPECT_FALSE(program.per_block);
    EXPECT_EQ(program.bytes, 8192 * kKiB);  // less than 64 KiB per SM: a quarter of L2, rounded down to a power of two
    EXPECT_EQ(program.threads_per_block, 1024u);
  }
  EXPECT_EQ(programs[6].loads_in_flight, 4u);
  EXPECT_EQ(programs[7].loads_in_flight, 8u);
}

TEST_F(Streams, OfACacheThatSmsShareAreOneArray) {
  const auto programs = cache_streams(runner_, cache(Space::kGlobalBypassL1, 20 << 20), StreamOp::kRead);
  ASSERT_THAT(programs, SizeIs(6));
  EXPECT_THAT(programs, Each(AllOf(Field(&StreamProgram::per_block, false), Field(&StreamProgram::bytes, 8u << 20))));
  EXPECT_EQ(programs.front().repeats, 476u);  // 4 GB
  // Behind another cache, clearly more than that cache holds, or it would serve the stream.
  const auto behind = cache_streams(runner_, cache(Space::kGlobalBypassL1, 1200 * kKiB, 300 * kKiB), StreamOp::kRead);
  EXPECT_THAT(behind, Each(Field(&StreamProgram::bytes, 1u << 20)));
  EXPECT_THROW(
      static_cast<void>(cache_streams(runner_, cache(Space::kGlobalBypassL1, 64 * kKiB, 300 * kKiB), StreamOp::kRead)),
      Inconclusive);
  // Not so little that SMs wait for one another, and never more than fits.
  const auto least = cache_streams(runner_, cache(Space::kGlobalBypassL1, 400 * kKiB), StreamOp::kRead);
  EXPECT_THAT(least, Each(Field(&StreamProgram::bytes, 256u << 10)));
  const auto small = cache_streams(runner_, cache(Space::kGlobalBypassL1, 100 * kKiB), StreamOp::kRead);
  EXPECT_THAT(small, Each(Field(&StreamProgram::bytes, 64u << 10)));
}

// With several warps, all but the first would hit the nearer cache.
TEST_F(Streams, BehindAnotherCacheAreOfOneWarp) {
  const auto programs = cache_streams(runner_, cache(Space::kConstant, 48 * kKiB, 2 * kKiB), StreamOp::kRead);
  ASSERT_THAT(programs, SizeIs(3));
  EXPECT_THAT(programs,
              Each(AllOf(Field(&StreamProgram::threads_per_block, 32u), Field(&StreamProgram::bytes, 16u << 10))));
  EXPECT_EQ(programs.back().loads_in_flight, 16u);
  EXPECT_EQ(programs.back().repeats, 61u);  // 1 MB
}

TEST_F(Streams, OfAScratchpadAreWithinEachBlock) {
  EXPECT_THAT(texts_of(scratchpad_streams(StreamOp::kWrite)),
              ElementsAre(to_text(StreamProgram{.op = StreamOp::kWrite,
                                                .space = Space::kShared,
                                                .bytes = 16384,
                                                .per_block = true,
                                                .loads_in_flight = 4,
                                                .repeats = 3906}),
                          ::testing::_, ::testing::_, ::testing::_, ::testing::_,
                          to_text(StreamProgram{.op = StreamOp::kWrite,
                                                .space = Space::kShared,
                                                .bytes = 4096,
                                                .per_block = true,
                                                .blocks_per_sm = 4,
                                                .threads_per_block = 512,
                                                .loads_in_flight = 8,
                                                .repeats = 15625})));
}

TEST_F(Streams, OfMemoryAreManyTimesTheLastCache) {
  EXPECT_EQ(memory_stream_bytes(runner_), 32 * *runner_.info().l2_bytes);
  const auto programs = memory_streams(runner_, StreamOp::kRead);
  ASSERT_THAT(programs, SizeIs(6));
  EXPECT_THAT(programs, Each(AllOf(Field(&StreamProgram::bytes, memory_stream_bytes(runner_)),
                                   Field(&StreamProgram::repeats, 6u), Field(&StreamProgram::per_block, false))));
}

}  // namespace
}  // namespace gputopo::probe
