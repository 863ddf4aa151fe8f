// Unreadable recordings: one clear line that says what to do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "device/replay/recording.h"
#include "device/replay/replay.h"
#include "gputopo/report.h"
#include "support/command.h"

namespace gputopo {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string good_recording() {
  Recording recording;
  recording.info.name = "some GPU";
  recording.answers[to_text(StreamProgram{.bytes = 4096})] = {
      ProgramResult{.data = StreamResult{.bytes_moved = 1, .seconds = 2, .cycles = 3}}};
  return encode_recording(recording);
}

class RecordingFile : public testing::Test {
 protected:
  const test::TemporaryFolder folder_;
  const std::string path_ = folder_.file("recording");

  // The message for a file of these bytes.
  std::string message_for(const std::string& bytes) {
    write_file(path_, bytes);
    try {
      static_cast<void>(open_device("replay:" + path_, 1));
      return "opened";
    } catch (const FormatError& error) {
      return error.what();
    }
  }
};

TEST_F(RecordingFile, AGoodOneOpens) { EXPECT_EQ(message_for(good_recording()), "opened"); }

TEST_F(RecordingFile, OfSomethingElse) {
  for (const std::string& bytes : {std::string("{\"schema_version\": 1}"), std::string(), std::string(1000, '\0')}) {
    EXPECT_THAT(message_for(bytes), AllOf(HasSubstr(path_), HasSubstr("not a gputopo recording"), HasSubstr("--record"),
                                          Not(HasSubstr("\n"))));
  }
}

TEST_F(RecordingFile, TruncatedAnywhere) {
  const std::string whole = good_recording();
  for (std::size_t size = 1; size < whole.size(); ++size) {
    ASSERT_THAT(message_for(whole.substr(0, size)),
                AllOf(HasSubstr("truncated or corrupt"), HasSubstr("copy it again")))
        << size << " of " << whole.size() << " bytes";
  }
}

TEST_F(RecordingFile, WithAnyByteFlipped) {
  const std::string whole = good_recording();
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    ASSERT_NE(message_for(damaged), "opened") << "byte " << i;
  }
}

TEST_F(RecordingFile, OfAnotherVersion) {
  EXPECT_THAT(message_for(encode_recording({}, kRecordingVersion + 1)),
              AllOf(HasSubstr("version 2"), HasSubstr("reads version 1"), HasSubstr("record again")));
}

// A recording of one answer to one program.
std::string recording_of(const std::string& program, ProgramResult answer) {
  Recording recording;
  recording.answers[program].emplace_back(std::move(answer));
  return encode_recording(recording);
}

ChaseProgram two_steps() {
  return {.arrays = {{.bytes = 4096, .stride_bytes = 64}},
          .actors = {{}},
          .steps = {{.kind = StepKind::kWarm, .loads = 64}, {.kind = StepKind::kTimed, .loads = 64}},
          .timed_cap = 8};
}

TEST_F(RecordingFile, WithAnAnswerToAnotherKindOfProgram) {
  const auto chase = to_text(two_steps());
  const auto stream = to_text(StreamProgram{.bytes = 4096});
  for (const std::string& bytes :
       {recording_of(chase, {.data = StreamResult{}}), recording_of(chase, {.data = ClusterResult{}}),
        recording_of(stream, {.data = ChaseResult{}}), recording_of(stream, {.data = AccessResult{}})}) {
    EXPECT_THAT(message_for(bytes), AllOf(HasSubstr(path_), HasSubstr("another kind of program"),
                                          HasSubstr("record again"), Not(HasSubstr("\n"))));
  }
}

TEST_F(RecordingFile, WithAnAnswerThatItsProgramCannotHave) {
  const auto message = [&](const Program& program, ProgramResult answer) {
    return message_for(recording_of(to_text(program), std::move(answer)));
  };
  const auto steps = [&](const std::vector<StepResult>& results) {
    return message(two_steps(), {.data = ChaseResult{.steps = results}});
  };
  const StepResult warm{.loads = 64};
  StepResult timed{.loads = 64, .latencies = std::vector<std::uint32_t>(8, 38), .histogram = {0, 64}};
  EXPECT_EQ(steps({warm, timed}), "opened");
  EXPECT_THAT(steps({warm}), HasSubstr("one result for each step"));
  EXPECT_THAT(steps({warm, warm}), HasSubstr("steps[1] has 0 latencies, but its program keeps 8"));
  EXPECT_THAT(steps({timed, timed}), HasSubstr("steps[0] has 8 latencies, but its program keeps 0"));
  EXPECT_THAT(steps({{}, timed}), HasSubstr("steps[0] has 0 loads, but its program has 64"));
  timed.histogram = {0, 63};
  EXPECT_THAT(steps({warm, timed}), HasSubstr("steps[1] has a histogram of 63 loads"));

  const InstructionProgram code{.actors = {{}}, .steps = {{.count = 32, .passes = 2}}};
  EXPECT_EQ(message(code, {.data = InstructionResult{.pass_cycles = {{5, 6}}, .sms = {0}}}), "opened");
  EXPECT_THAT(message(code, {.data = InstructionResult{.pass_cycles = {{5, 6}}}}), HasSubstr("one SM for each actor"));
  EXPECT_THAT(message(code, {.data = InstructionResult{.sms = {0}}}), HasSubstr("one result for each step"));
  EXPECT_THAT(message(code, {.data = InstructionResult{.pass_cycles = {{5}}, .sms = {0}}}),
              HasSubstr("one time for each pass"));

  const ClusterProgram cluster{.cluster_size = 2, .bytes = 1024, .accesses = 16};
  EXPECT_EQ(message(cluster, {.data = ClusterResult{.sms = {0, 1}, .cycles = {200}}}), "opened");
  EXPECT_THAT(message(cluster, {.data = ClusterResult{.sms = {0}, .cycles = {200}}}),
              HasSubstr("one SM for each block"));
  EXPECT_THAT(message(cluster, {.data = ClusterResult{}}), HasSubstr("no cluster"));
  EXPECT_THAT(message(cluster, {.data = ClusterResult{.sms = {0, 4'000'000'000}, .cycles = {200}}}),
              HasSubstr("names SM 4000000000"));

  const StreamProgram stream{.bytes = 4096};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(message(stream, {.data = StreamResult{.seconds = nan}}), HasSubstr("seconds is not a finite number"));
  EXPECT_THAT(message(stream, {.data = StreamResult{.seconds = -1}}), HasSubstr("the number -1"));
  EXPECT_THAT(message(AccessProgram{}, {.data = AccessResult{.blocks = 0}}), HasSubstr("has 0 blocks"));
}

TEST_F(RecordingFile, WithAProgramThatIsNotKnown) {
  EXPECT_THAT(
      message_for(recording_of("dance tempo=3", {.data = StreamResult{}})),
      AllOf(HasSubstr(path_), HasSubstr("does not know"), HasSubstr("dance"), HasSubstr("that made the recording")));
}

TEST_F(RecordingFile, OfAnAnswerWithItsPlace) {
  EXPECT_THAT(message_for(recording_of(to_text(two_steps()), {.data = ChaseResult{}})),
              AllOf(HasSubstr("answer 1 to program 1 ('chase exclusive=0"), Not(HasSubstr("\n"))));
}

TEST_F(RecordingFile, OfADeviceThatCannotBe) {
  const auto message = [&](const auto& change) {
    Recording recording;
    change(recording.info);
    return message_for(encode_recording(recording));
  };
  EXPECT_THAT(message([](DeviceInfo& info) { info.sm_count = 4'000'000'000; }),
              HasSubstr("info.sm_count: 4000000000 is not between 1 and 4096"));
  EXPECT_THAT(message([](DeviceInfo& info) { info.warp_size = 0; }), HasSubstr("info.warp_size"));
  EXPECT_THAT(message([](DeviceInfo& info) { info.l2_bytes = 1ull << 63; }), HasSubstr("info.l2_bytes"));
  EXPECT_THAT(message([](DeviceInfo& info) { info.max_array_bytes = 1ull << 63; }), HasSubstr("info.max_array_bytes"));
  EXPECT_THAT(message([](DeviceInfo& info) { info.sm_clock_max_mhz = 0; }), HasSubstr("info.sm_clock_max_mhz"));
  EXPECT_THAT(message([](DeviceInfo& info) { info.spaces = {static_cast<Space>(99)}; }),
              HasSubstr("info.spaces[0] is 99"));
}

TEST_F(RecordingFile, WithAProgramOfMoreElementsThanFit) {
  const std::string array = "array=global:4096:64:sequential:reversed:1:0 elements=0-1000000 ";
  std::string program = "chase ";
  for (int i = 0; i < 5; ++i) program += array;
  EXPECT_THAT(message_for(recording_of(program + "actor=0", {.data = ChaseResult{}})),
              HasSubstr("lists more elements than"));
  EXPECT_THAT(message_for(recording_of("chase array=global:4096:64:sequential:reversed:1:0 elements=0-4000000000",
                                       {.data = ChaseResult{}})),
              HasSubstr("lists more elements than"));
}

TEST_F(RecordingFile, ThatIsNotThere) {
  EXPECT_THROW(static_cast<void>(open_device("replay:/nonexistent/file", 1)), FileError);
}

TEST_F(RecordingFile, CannotBeWritten) {
  class NoDevice : public Device {
    [[nodiscard]] const DeviceInfo& info() const override { return info_; }
    [[nodiscard]] std::vector<ProgramResult> run(std::span<const Program>) override { return {}; }
    DeviceInfo info_;
  };
  const Recorder recorder(std::make_unique<NoDevice>());
  EXPECT_THROW(recorder.save("/nonexistent/folder/recording"), FileError);
}

}  // namespace
}  // namespace gputopo
