// A recording answers as the device did.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <limits>

#include "device/replay/recording.h"
#include "device/replay/replay.h"
#include "device/sim/machine_file.h"
#include "device/sim/sim_device.h"
#include "gputopo/report.h"
#include "support/command.h"
#include "support/message_of.h"
#include "support/random_program.h"

namespace gputopo {
namespace {

using testing::HasSubstr;

Program chase_program(std::uint64_t bytes) {
  ChaseProgram program;
  program.arrays = {{.bytes = bytes, .stride_bytes = 128}};
  program.actors = {{}};
  program.steps = {{.kind = StepKind::kWarm, .loads = 100}, {.kind = StepKind::kTimed, .loads = 100}};
  return program;
}

Program stream_program() { return StreamProgram{.bytes = 1 << 20}; }

// Answers each program with the next result of the script, or throws it.
class ScriptedDevice : public Device {
 public:
  std::deque<RecordedAnswer> script;
  bool ended = false;
  DeviceInfo device_info;

  [[nodiscard]] const DeviceInfo& info() const override { return device_info; }
  [[nodiscard]] std::vector<ProgramResult> run(std::span<const Program> programs) override {
    if (ended) throw EndedError("ended");
    std::vector<ProgramResult> results;
    for (std::size_t i = 0; i < programs.size(); ++i) {
      const RecordedAnswer answer = script.front();
      script.pop_front();
      if (const auto* error = std::get_if<RecordedError>(&answer)) throw_recorded(*error);
      results.push_back(std::get<ProgramResult>(answer));
    }
    return results;
  }
  [[nodiscard]] std::string native_code(const Program&) override { return "native"; }
};

ProgramResult stream_result(double seconds) {
  return {.data = StreamResult{.bytes_moved = 7, .seconds = seconds, .cycles = 0.1}, .sm_clock_mhz = 1980.25};
}

std::vector<ProgramResult> run_one(Device& device, const Program& program) { return device.run({&program, 1}); }

class Replay : public testing::Test {
 protected:
  const test::TemporaryFolder folder_;
  const std::string path_ = folder_.file("recording");

  std::unique_ptr<Device> replay_of(const Recorder& recorder) {
    recorder.save(path_);
    return open_recording(path_);
  }
};

TEST_F(Replay, AnswersWhatASimulationAnswered) {
  Recorder recorder(sim::make_sim_device(sim::parse_machine(*sim::builtin_machine("h200")), 3));
  const std::vector<Program> programs = {chase_program(4096), stream_program(), chase_program(1 << 20)};
  const std::vector<ProgramResult> answered = recorder.run(programs);
  const auto replay = replay_of(recorder);
  EXPECT_EQ(replay->run(programs), answered);
  EXPECT_EQ(replay->info().backend, "replay");
  EXPECT_TRUE(replay->info().simulated);
  EXPECT_EQ(replay->info().name, "NVIDIA H200");
  EXPECT_EQ(replay->info().carve_outs_bytes, recorder.info().carve_outs_bytes);
  EXPECT_EQ(replay->info().spaces, recorder.info().spaces);
  EXPECT_EQ(replay->info().max_array_bytes, recorder.info().max_array_bytes);
  EXPECT_EQ(replay->info().mig_enabled, std::nullopt);
  EXPECT_EQ(replay->info().sm_clock_max_mhz, 1980);
}

// Changes a random answer into one that the program can have.
void fit(ChaseProgram& program, ChaseResult& result) {
  result.steps.resize(program.steps.size());
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    ChaseStep& step = program.steps[i];
    if (step.kind == StepKind::kTouch) step.array = 99;  // no array that would determine the loads
    step.loads = std::max<std::uint64_t>(step.loads, 20);
    program.timed_cap = std::min(program.timed_cap, 20u);
    result.steps[i].loads = step.loads;
    result.steps[i].latencies.assign(keeps_latencies(step.kind) ? program.timed_cap : 0, 38);
    std::vector<std::uint32_t> histogram(17, 0);
    histogram[16] = static_cast<std::uint32_t>(step.loads);
    result.steps[i].histogram = has_histogram(step.kind) ? histogram : std::vector<std::uint32_t>();
  }
  result.sm %= 132;
}

void fit(InstructionProgram& program, InstructionResult& result) {
  result.sms.resize(program.actors.size());
  result.pass_cycles.resize(program.steps.size());
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    program.steps[i].passes = static_cast<std::uint32_t>(result.pass_cycles[i].size());
  }
  for (std::uint32_t& sm : result.sms) sm %= 132;
}

void fit(ClusterProgram& program, ClusterResult& result) {
  program.cluster_size = program.cluster_size % kMaxClusterBlocks + 1;
  result.cycles.resize(result.cycles.size() + 1, 0.1);
  program.every_sm = true;
  result.sms.resize(result.cycles.size() * program.cluster_size);
  for (std::uint32_t& sm : result.sms) sm %= 132;
  result.largest_cluster %= kMaxClusterBlocks;
}

void fit(OperationProgram& program, OperationResult& result) {
  if (!result.refusal.empty()) {
    result = {.refusal = result.refusal};
    return;
  }
  program.every_sm = true;
  result.cycles.resize(result.cycles.size() + 1, 0.1);
  result.sms.resize(result.cycles.size());
  for (std::uint32_t& sm : result.sms) sm %= 132;
}

void fit(OccupancyProgram& program, OccupancyResult& result) {
  result.sms.resize(result.sms.size() + 1);
  for (std::uint32_t& sm : result.sms) sm %= 132;
  result.resident.resize(result.sms.size());
  for (auto* column : {&result.timer_ns, &result.clock_cycles, &result.timer_step_ns, &result.clock_read_cycles,
                       &result.clock_step_cycles}) {
    column->resize(program.clocks ? result.sms.size() : 0, 0.1);
  }
}

void fit(const StreamProgram&, const StreamResult&) {}
void fit(const LaunchProgram&, const LaunchResult&) {}
void fit(const AccessProgram&, AccessResult& result) { result.blocks = result.blocks % 132 + 1; }

TEST(RecordingOf, AnswersOfEveryKindComesBack) {
  truth::Draw draw(1);
  Recording recording;
  for (int i = 0; i < 50; ++i) {
    for (Program& program : test::random_programs(draw)) {
      ProgramResult result;
      visit_fields(result, test::RandomFields(draw));
      std::visit(
          [&]<typename Kind>(Kind& of_kind) {
            ResultOf<Kind> data;
            visit_fields(data, test::RandomFields(draw));
            fit(of_kind, data);
            result.data = std::move(data);
          },
          program);
      recording.answers[to_text(program)].emplace_back(std::move(result));
    }
  }
  const Recording decoded = decode_recording(encode_recording(recording));
  ASSERT_EQ(decoded.answers.size(), recording.answers.size());
  for (const auto& [text, answers] : recording.answers) {
    ASSERT_EQ(decoded.answers.at(text).size(), answers.size());
    for (std::size_t i = 0; i < answers.size(); ++i) {
      EXPECT_EQ(std::get<ProgramResult>(decoded.answers.at(text)[i]), std::get<ProgramResult>(answers[i])) << text;
    }
  }
}

TEST_F(Replay, AnswersARepeatedProgramInOrderAndThenWithTheLastAnswer) {
  auto device = std::make_unique<ScriptedDevice>();
  device->script = {stream_result(1), stream_result(2)};
  Recorder recorder(std::move(device));
  const Program program = stream_program();
  static_cast<void>(run_one(recorder, program));
  static_cast<void>(run_one(recorder, program));
  const auto replay = replay_of(recorder);
  for (const double seconds : {1.0, 2.0, 2.0}) {
    EXPECT_EQ(std::get<StreamResult>(run_one(*replay, program)[0].data).seconds, seconds);
  }
}

TEST_F(Replay, KeepsWhenAProgramStartedAndWhetherItHadCompany) {
  ProgramResult disturbed = stream_result(1);
  disturbed.undisturbed = false;
  ProgramResult later = stream_result(2);
  later.started_seconds = 0.1;
  auto device = std::make_unique<ScriptedDevice>();
  device->script = {stream_result(0), disturbed, later};
  Recorder recorder(std::move(device));
  for (int i = 0; i < 3; ++i) static_cast<void>(run_one(recorder, stream_program()));
  const auto replay = replay_of(recorder);
  for (const ProgramResult& answer : {stream_result(0), disturbed, later}) {
    EXPECT_EQ(run_one(*replay, stream_program())[0], answer);
  }
}

TEST_F(Replay, TellsWhenAndWhereItWasMeasured) {
  auto device = std::make_unique<ScriptedDevice>();
  device->script = {stream_result(1)};
  Recorder recorder(std::move(device));
  static_cast<void>(run_one(recorder, stream_program()));
  EXPECT_FALSE(recorder.info().recorded) << "of what is measured now and here";
  const auto replay = replay_of(recorder);
  ASSERT_TRUE(replay->info().recorded);
  EXPECT_EQ(replay->info().recorded->timestamp.size(), std::string("2026-11-23T06:00:00Z").size());
  EXPECT_FALSE(replay->info().recorded->os.empty());
}

TEST(RecordingOf, WhenAndWhereComesBackAndMayBeUnknown) {
  Recording recording;
  EXPECT_EQ(decode_recording(encode_recording(recording)).info.recorded, DeviceInfo::Origin{}) << "an older one";
  recording.info.recorded = {.timestamp = "2020-02-02T02:02:02Z", .host_cpu = "a CPU", .os = "an OS"};
  EXPECT_EQ(decode_recording(encode_recording(recording)).info.recorded, recording.info.recorded);
}

TEST_F(Replay, AnEndIsNoAnswer) {
  auto device = std::make_unique<ScriptedDevice>();
  device->script = {stream_result(1)};
  device->ended = true;
  Recorder recorder(std::move(device));
  EXPECT_THROW(static_cast<void>(run_one(recorder, stream_program())), EndedError);
  const auto replay = replay_of(recorder);
  EXPECT_THROW(static_cast<void>(run_one(*replay, stream_program())), DeviceError);
}

TEST_F(Replay, ThrowsWhatTheDeviceThrewAndGoesOn) {
  auto device = std::make_unique<ScriptedDevice>();
  device->script = {RecordedError{"device_memory", "no memory left", "CUDA_ERROR_OUT_OF_MEMORY"}, stream_result(1),
                    RecordedError{"device_lost", "gone", "X"}};
  Recorder recorder(std::move(device));
  const Program program = stream_program();
  EXPECT_THROW(static_cast<void>(run_one(recorder, program)), DeviceMemoryError);
  static_cast<void>(run_one(recorder, program));
  EXPECT_THROW(static_cast<void>(run_one(recorder, program)), DeviceLostError);

  const auto replay = replay_of(recorder);
  try {
    static_cast<void>(run_one(*replay, program));
    FAIL() << "no exception";
  } catch (const DeviceMemoryError& error) {
    EXPECT_STREQ(error.what(), "no memory left");
    EXPECT_EQ(error.status(), "CUDA_ERROR_OUT_OF_MEMORY");
  }
  EXPECT_EQ(run_one(*replay, program)[0], stream_result(1));
  EXPECT_THROW(static_cast<void>(run_one(*replay, program)), DeviceLostError);
}

TEST_F(Replay, ProgramsThatFailedTogetherFailAsTheyDid) {
  auto device = std::make_unique<ScriptedDevice>();
  device->script = {RecordedError{"not_supported", "no such programs here", "X"}, stream_result(1)};
  Recorder recorder(std::move(device));
  const std::vector<Program> programs = {stream_program(), chase_program(4096)};
  EXPECT_THROW(static_cast<void>(recorder.run(programs)), NotSupportedError);
  static_cast<void>(run_one(recorder, stream_program()));
  const auto replay = replay_of(recorder);
  EXPECT_THROW(static_cast<void>(replay->run(programs)), NotSupportedError);
  EXPECT_EQ(run_one(*replay, stream_program())[0], stream_result(1));
  // This time the first program succeeds, and the other one was never answered.
  try {
    static_cast<void>(replay->run(programs));
    FAIL() << "no exception";
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), HasSubstr("the recording does not contain"));
  }
}

TEST_F(Replay, EveryErrorComesBackAsItself) {
  const auto type_of = [](const auto& error) { return record_error(error).type; };
  EXPECT_EQ(type_of(NotSupportedError("x")), "not_supported");
  EXPECT_EQ(type_of(DeviceMemoryError("x")), "device_memory");
  EXPECT_EQ(type_of(DeviceLostError("x")), "device_lost");
  EXPECT_EQ(type_of(DeviceError("x")), "device");
  EXPECT_EQ(type_of(UsageError("x")), "usage");
  EXPECT_EQ(type_of(Error("x")), "error");
}

TEST_F(Replay, DoesNotAnswerWhatWasNotRecorded) {
  Recorder recorder(sim::make_sim_device(sim::parse_machine(*sim::builtin_machine("h200")), 3));
  static_cast<void>(run_one(recorder, chase_program(4096)));
  const auto replay = replay_of(recorder);
  try {
    static_cast<void>(run_one(*replay, chase_program(8192)));
    FAIL() << "no exception";
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), HasSubstr("another version of gputopo or with other options"));
    EXPECT_EQ(typeid(error), typeid(DeviceError));  // not a derived type that says the device cannot
  }
}

// The refusal of --record to write something that could not be read again.
std::string refusal_to_record(const Program& program, const ProgramResult& answer, const DeviceInfo& info = {},
                              const std::string& path = "/dev/null") {
  auto device = std::make_unique<ScriptedDevice>();
  device->script = {answer};
  device->device_info = info;
  Recorder recorder(std::move(device));
  static_cast<void>(run_one(recorder, program));
  return test::message_of<FormatError>("recording", [&] { recorder.save(path); });
}

TEST_F(Replay, NothingIsRecordedThatCouldNotBeReadAgain) {
  const DeviceInfo usual = sim::parse_machine(*sim::builtin_machine("h200")).info;
  EXPECT_THAT(
      refusal_to_record(chase_program(4096), stream_result(1), usual, path_),
      AllOf(HasSubstr("the recording '" + path_ + "' was not written, because 'gputopo replay' could not read it: "),
            HasSubstr("the device's result for 'chase "), HasSubstr("is the result of another kind of program")));
  EXPECT_THAT(refusal_to_record(chase_program(4096), {.data = ChaseResult{}}, usual),
              HasSubstr("does not have one result for each step"));
  const double none = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(refusal_to_record(stream_program(), stream_result(none), usual), HasSubstr("the number nan"));
  ProgramResult result = stream_result(1);
  result.sm_clock_mhz = none;
  EXPECT_THAT(refusal_to_record(stream_program(), result, usual), HasSubstr("not a finite number"));
  result.sm_clock_mhz = -1;
  EXPECT_THAT(refusal_to_record(stream_program(), result, usual), HasSubstr("less than zero"));
  DeviceInfo odd = usual;
  odd.sm_count = 5000;
  EXPECT_THAT(refusal_to_record(stream_program(), stream_result(1), odd), HasSubstr("info.sm_count: 5000"));
  EXPECT_THAT(folder_.entries(), testing::IsEmpty());
}

TEST_F(Replay, LeavesOutThePciAddressUnlessAsked) {
  const auto address_kept = [&](bool with_pci_address) {
    auto device = std::make_unique<ScriptedDevice>();
    device->device_info.pci_address = "0000:0f:00.0";
    const Recorder recorder(std::move(device), with_pci_address);
    return replay_of(recorder)->info().pci_address;
  };
  EXPECT_EQ(address_kept(false), "");
  EXPECT_EQ(address_kept(true), "0000:0f:00.0");
}

TEST_F(Replay, ARecorderShowsTheDeviceBehindIt) {
  auto device = std::make_unique<ScriptedDevice>();
  device->device_info.name = "scripted";
  Recorder recorder(std::move(device));
  EXPECT_EQ(recorder.info().name, "scripted");
  EXPECT_EQ(recorder.native_code(stream_program()), "native");
}

// A recording of a whole discovery, about 10,000 timed steps, should take at most 20 MiB.
TEST_F(Replay, ATimedStepTakesUnderTwoKilobytes) {
  Recorder recorder(sim::make_sim_device(sim::parse_machine(*sim::builtin_machine("h200")), 3));
  std::vector<Program> programs;
  for (std::uint64_t i = 0; i < 100; ++i) {
    Program program = chase_program(4096 + 128 * i);
    std::get<ChaseProgram>(program).steps[1].loads = 2048;
    programs.push_back(program);
  }
  static_cast<void>(recorder.run(programs));
  recorder.save(path_);
  EXPECT_LT(read_file(path_).size(), 100u * 2048);
}

}  // namespace
}  // namespace gputopo
