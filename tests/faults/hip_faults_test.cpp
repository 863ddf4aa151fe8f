// Failures of a HIP runtime or an AMD GPU become exceptions of the right type, with one line that says what to do.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "device/hip/hip_device.h"
#include "device/hip/kfd_topology.h"
#include "gputopo/discover.h"
#include "gputopo/error.h"
#include "gputopo/report.h"
#include "support/command.h"
#include "support/fake_hip.h"
#include "support/message_of.h"

namespace gputopo {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// Opens the device, runs a program and returns the message. The exception must have exactly this type.
template <typename Exception>
std::string hip_message(const std::string& behaviour, const std::string& sysfs = "mi210",
                        const std::string& library = GPUTOPO_FAKE_HIP_LIBRARY,
                        const ChaseProgram& chase = test::kChase) {
  const test::FakeHip fake(behaviour, "mi210", sysfs, library);
  return test::message_of<Exception>(behaviour, [&] {
    const Program program = chase;
    static_cast<void>(open_hip_device(0)->run({&program, 1}));
  });
}

TEST(HipFaults, NoRuntime) {
  EXPECT_THAT(hip_message<DeviceError>("", "mi210", "/nonexistent/libamdhip64.so"),
              AllOf(HasSubstr("no HIP runtime: /nonexistent/libamdhip64.so could not be loaded"),
                    HasSubstr("--device sim:mi210")));
}

TEST(HipFaults, MissingSymbol) {
  EXPECT_THAT(
      hip_message<DeviceError>("", "mi210", GPUTOPO_FAKE_HIP_INCOMPLETE),
      AllOf(HasSubstr("has no hipModuleOccupancyMaxActiveBlocksPerMultiprocessor"), HasSubstr("ROCm 5, 6 or 7")));
}

// ---- runtimes and compilers of several versions ----

// Two folders that the loader searches in order. The libraries in them are links to libraries of the tests.
class HipVersions : public ::testing::Test {
 protected:
  void install(const std::string& name, const std::string& library) {
    std::filesystem::create_directories(std::filesystem::path(folder_.file(name)).parent_path());
    std::filesystem::create_symlink(library, folder_.file(name));
  }
  test::CommandResult discover() {
    const test::FakeHip fake;
    unsetenv("GPUTOPO_LIBAMDHIP64");
    unsetenv("GPUTOPO_LIBHIPRTC");
    return test::run_command("LD_LIBRARY_PATH=" + folder_.file("a") + ":" + folder_.file("b") +
                             " " GPUTOPO_BINARY " --device hip:0 --quiet --only lds --attribute latency");
  }
  // Not a compiler: loading it as one fails.
  static constexpr const char* kWrong = GPUTOPO_FAKE_NVML_LIBRARY;

  test::TemporaryFolder folder_;
};

TEST_F(HipVersions, TheCompilerIsOfTheRuntimesVersion) {
  install("a/libamdhip64.so.6", GPUTOPO_FAKE_HIP_MINIMAL);
  install("a/libhiprtc.so.7", kWrong);
  install("a/libhiprtc.so", kWrong);
  install("b/libhiprtc.so.6", GPUTOPO_FAKE_HIP_LIBRARY);
  const test::CommandResult result = discover();
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

TEST_F(HipVersions, TheCompilerIsOfTheRuntimesFolder) {
  install("a/libhiprtc.so.6", kWrong);
  install("b/libhiprtc.so.6", GPUTOPO_FAKE_HIP_LIBRARY);
  install("b/libamdhip64.so.6", GPUTOPO_FAKE_HIP_MINIMAL);
  const test::CommandResult result = discover();
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

TEST_F(HipVersions, ACompilerOfAnotherVersionIsNone) {
  install("a/libamdhip64.so.6", GPUTOPO_FAKE_HIP_MINIMAL);
  install("a/libhiprtc.so.7", GPUTOPO_FAKE_HIP_LIBRARY);
  const test::CommandResult result = discover();
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("no HIP compiler for libamdhip64.so.6"),
                                HasSubstr("libhiprtc.so.6 could not be loaded")));
}

TEST_F(HipVersions, TheRuntimeMayHaveTheCompilerWithin) {
  install("a/libamdhip64.so.5", GPUTOPO_FAKE_HIP_LIBRARY);
  install("a/libhiprtc.so.6", kWrong);
  const test::CommandResult result = discover();
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

// ---- what the GPU and its driver do ----

TEST(HipFaults, KernelModuleDoesNotAnswer) {
  EXPECT_THAT(hip_message<DeviceError>("no_driver"), AllOf(HasSubstr("hipErrorNotInitialized"), HasSubstr("amdgpu")));
}

TEST(HipFaults, NoDevice) {
  EXPECT_THAT(hip_message<DeviceError>("no_device"), AllOf(HasSubstr("HIP_VISIBLE_DEVICES"), HasSubstr("/dev/kfd")));
}

TEST(HipFaults, UnknownOrdinalSaysHowManyThereAre) {
  const test::FakeHip fake;
  try {
    static_cast<void>(open_hip_device(2));
    FAIL();
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), HasSubstr("there is no hip:2: the runtime reports 1 HIP device"));
  }
}

TEST(HipFaults, NoTopology) {
  EXPECT_THAT(hip_message<DeviceError>("", "nothing-here"),
              AllOf(HasSubstr("does not list the GPU at 0000:c1:00.0"), HasSubstr("mount /sys")));
}

TEST(HipFaults, OtherArchitecturesAreRefusedByName) {
  EXPECT_THAT(hip_message<NotSupportedError>("", "rx7900"), AllOf(HasSubstr("gfx1100"), HasSubstr("gfx90a, gfx942")));
}

TEST(HipFaults, CompileErrorShowsTheLog) {
  EXPECT_THAT(hip_message<DeviceError>("bad_source"),
              AllOf(HasSubstr("hiprtcCompileProgram(gfx90a) failed: HIPRTC_ERROR_COMPILATION"),
                    HasSubstr("error: what the compiler says")));
}

TEST(HipFaults, OutOfMemory) {
  EXPECT_THAT(hip_message<DeviceMemoryError>("out_of_memory=1"), AllOf(HasSubstr("hipMalloc("), HasSubstr("rocm-smi")));
}

TEST(HipFaults, LaunchFailureAndIllegalAddressEndTheDevice) {
  EXPECT_THAT(hip_message<DeviceLostError>("launch_failed"), HasSubstr("hipErrorLaunchFailure"));
  EXPECT_THAT(hip_message<DeviceLostError>("illegal_address"), HasSubstr("hipErrorIllegalAddress"));
}

TEST(HipFaults, LostLater) {
  EXPECT_THAT(hip_message<DeviceLostError>("lost_after=3"), AllOf(HasSubstr("kernel "), HasSubstr("dmesg")));
}

// ROCm ends the process, or the kernel never ends. Neither may lose earlier values.
TEST(HipFaults, AMemoryFaultKeepsWhatWasMeasured) {
  const test::TemporaryFolder folder;
  const auto discover_with = [&](const std::string& behaviour) {
    const test::FakeHip fake(behaviour);
    return test::run_command("timeout -s KILL 60 " GPUTOPO_BINARY
                             " --device hip:0 --quiet --only lds --attribute latency,banks --json " +
                             folder.file(behaviour + ".json") + " --record " + folder.file(behaviour + ".gputopo"));
  };
  // The roll call, one or more spins to wake the GPU, fills and chases: the fault comes during the second attribute.
  const test::CommandResult result = discover_with("memory_fault=40");
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("memory access fault on the GPU at 0xdead0000"), HasSubstr("dmesg")));
  const Topology found = read_json(read_file(folder.file("memory_fault=40.json")));
  EXPECT_FALSE(found.complete);
  EXPECT_TRUE(found.find_attribute("lds", "latency")->available());
  EXPECT_EQ(found.find_attribute("lds", "banks")->reason, Reason::kDeviceError);
  EXPECT_THAT(found.warnings, Contains(HasSubstr("memory access fault")));
  EXPECT_EQ(open_device("replay:" + folder.file("memory_fault=40.gputopo"), 1)->info().vendor, "AMD");
}

// At its end the process would wait for the GPU. The exit code is the same if the lost value was not promised, or if
// the report cannot be written.
TEST(HipFaults, AMemoryFaultIsAFailureWhateverElseFails) {
  const test::FakeHip fake("memory_fault=60");
  const test::CommandResult full =
      test::run_command("timeout -s KILL 60 " GPUTOPO_BINARY " --device hip:0 --quiet --full --only l2.ways");
  EXPECT_EQ(full.exit_code, 1) << full.err;
  EXPECT_THAT(full.err, HasSubstr("memory access fault on the GPU"));
  const test::CommandResult unwritten = test::run_command(
      "timeout -s KILL 60 " GPUTOPO_BINARY " --device hip:0 --quiet --only lds --attribute latency,banks >/dev/full");
  EXPECT_EQ(unwritten.exit_code, 1) << unwritten.err;
  EXPECT_THAT(unwritten.err, AllOf(HasSubstr("memory access fault on the GPU"), HasSubstr("standard output")));
}

// With a masked CU, all programs run except those that name CUs.
TEST(HipFaults, MaskedCusCannotBeNamed) {
  ChaseProgram named = test::kChase;
  named.exclusive = true;
  named.sm = 3;
  EXPECT_THAT(hip_message<NotSupportedError>("masked", "mi210", GPUTOPO_FAKE_HIP_LIBRARY, named),
              AllOf(HasSubstr("SM 3 cannot be selected"), HasSubstr("mask")));
  const test::FakeHip fake("masked");
  const std::unique_ptr<Device> device = open_hip_device(0);
  EXPECT_FALSE(device->info().physical_sm_ids.has_value());
  const Program program = test::kChase;
  EXPECT_THAT(device->run({&program, 1}), SizeIs(1));
}

// The message of a failed launch, for programs of other kinds.
template <typename Exception>
std::string message_of_program(const std::string& behaviour, const Program& program) {
  const test::FakeHip fake(behaviour);
  try {
    static_cast<void>(open_hip_device(0)->run({&program, 1}));
  } catch (const Exception& error) {
    EXPECT_THAT(error.what(), Not(HasSubstr("\n")));
    return error.what();
  }
  ADD_FAILURE() << behaviour << ": no exception";
  return {};
}

TEST(HipFaults, BlocksThatDoNotStartTogether) {
  const AccessProgram together{.space = Space::kGlobalBypassL1,
                               .bytes = 4096,
                               .lane_stride_bytes = 8,
                               .hop_bytes = 512,
                               .every_sm = true,
                               .accesses = 16};
  EXPECT_THAT(message_of_program<DeviceError>("apart", together),
              AllOf(HasSubstr("did not start together"), HasSubstr("another program")));
  EXPECT_THAT(message_of_program<DeviceLostError>("launch_failed", together), HasSubstr("hipErrorLaunchFailure"));
}

TEST(HipFaults, CodeOnACuThatNoBlockReaches) {
  const InstructionProgram pair{.actors = {{.sm = 0}, {.sm = 1}},
                                .steps = {{.count = 64}, {.actor = 1, .count = 64}, {.count = 64}}};
  EXPECT_THAT(message_of_program<NotSupportedError>("one_block", pair),
              HasSubstr("no block of the launch ran on SM 1"));
  InstructionProgram nowhere = pair;
  nowhere.actors[1].sm = 104;
  EXPECT_THAT(message_of_program<NotSupportedError>("", nowhere), HasSubstr("no SM 104"));
}

TEST(HipFaults, AFailedProgramLeavesTheNextOnesAlone) {
  const test::FakeHip fake("out_of_memory=2");
  const std::unique_ptr<Device> device = open_hip_device(0);
  Program large =
      ChaseProgram{.arrays = {{.bytes = 128 << 20, .stride_bytes = 4096}}, .actors = {{}}, .steps = {{.loads = 64}}};
  EXPECT_THROW(static_cast<void>(device->run({&large, 1})), DeviceMemoryError);
  const Program small = test::kChase;
  EXPECT_THAT(device->run({&small, 1}), SizeIs(1));
}

// ---- warnings ----

std::vector<std::string> warnings_of(const std::string& behaviour, const std::string& sysfs) {
  const test::FakeHip fake(behaviour, "mi210", sysfs);
  const std::unique_ptr<Device> device = open_hip_device(0);
  const Program program = test::kChase;
  static_cast<void>(device->run({&program, 1}));
  return device->warnings();
}

TEST(HipWarnings, NoneOfAGpuThatIsLeftAlone) { EXPECT_THAT(warnings_of("", "mi210"), IsEmpty()); }

// In that folder one process is at work, and one has only opened the GPU.
TEST(HipWarnings, OtherProcessesAtWork) {
  EXPECT_THAT(warnings_of("", "mi210-busy"), ElementsAre(HasSubstr("1 other process kept this GPU 97% busy")));
  const std::string root = test::FakeHip::sysfs_fixture("mi210-busy");
  EXPECT_EQ(hip::other_processes(root, 34567), 1u);
  EXPECT_EQ(hip::other_processes(root, 1), 0u);
  EXPECT_EQ(hip::other_processes(test::FakeHip::sysfs_fixture("mi210"), 34567), 0u);
}

TEST(HipWarnings, ClocksHeldDown) {
  EXPECT_THAT(warnings_of("slow", "mi210"), ElementsAre(HasSubstr("ran at 850 of 1700 MHz: ")));
  EXPECT_THAT(warnings_of("slow", "mi210-busy"), Contains(HasSubstr("limited by its power limit")));
  EXPECT_THAT(warnings_of("slow", "mi210-slow"),
              ElementsAre(HasSubstr("limited by power_dpm_force_performance_level=low")));
  EXPECT_THAT(warnings_of("", "mi210-slow"), IsEmpty());
}

TEST(HipWarnings, CusThatNoBlockReached) {
  EXPECT_THAT(warnings_of("masked", "mi210"), ElementsAre(HasSubstr("blocks ran on 103 of the 104 CUs")));
}

// ---- what would end the process ----

TEST(HipCompiler, IsNotAskedForTargetsThatItDoesNotKnow) {
  const test::FakeHip fake("version=50600000", "mi300x");
  const std::string message = test::message_of<DeviceError>("gfx942", [] {
    const Program program = test::kChase;
    static_cast<void>(open_hip_device(0)->run({&program, 1}));
  });
  EXPECT_THAT(message, HasSubstr("the compiler of HIP 5.6 does not support gfx942: install ROCm 5.7 or later"));
}

TEST(HipCompiler, NeedsItsBuiltins) {
  if (dlopen("libhiprtc-builtins.so.5", RTLD_LAZY) != nullptr) GTEST_SKIP() << "they are installed";
  EXPECT_THAT(hip_message<DeviceError>("version=50700000"),
              AllOf(HasSubstr("libhiprtc-builtins.so.5, which is missing"), HasSubstr("libhiprtc-builtins5 (Debian")));
}

// Like a gated clock, or a counter of something else.
TEST(HipClock, ThatHardlyRunsGivesNoLatency) {
  const test::FakeHip fake("stopped");
  const auto device = open_hip_device(0);
  const Topology topology = discover(*device, {.elements = {"lds", "vl1"}, .attributes = {"latency"}});
  for (const char* element : {"lds", "vl1"}) {
    const Attribute& latency = *topology.find_attribute(element, "latency");
    EXPECT_EQ(latency.reason, Reason::kInconclusive) << element;
    EXPECT_THAT(latency.detail, HasSubstr("the clock does not count cycles")) << element;
  }
}

// ---- the list ----

TEST(HipList, ShowsTheGpu) {
  const test::FakeHip fake("", "mi300x");
  std::string problem;
  const std::vector<DeviceListing> listings = list_hip_devices(problem);
  ASSERT_EQ(listings.size(), 1u);
  EXPECT_EQ(listings[0].spec, "hip:0");
  EXPECT_EQ(listings[0].detail, "CDNA3 (gfx942), 304 CUs");
  EXPECT_THAT(problem, IsEmpty());
  EXPECT_EQ(first_hip_device(), 0);
}

TEST(HipList, SaysWhyAGpuCannotBeUsed) {
  const test::FakeHip fake("", "mi210", "rx7900");
  std::string problem;
  EXPECT_THAT(list_hip_devices(problem).at(0).detail, HasSubstr("gfx1100"));
  EXPECT_EQ(first_hip_device(), std::nullopt);
}

TEST(HipList, SaysWhyARuntimeThatIsThereListsNothing) {
  const test::FakeHip fake("no_driver");
  std::string problem;
  EXPECT_THAT(list_hip_devices(problem), IsEmpty());
  EXPECT_THAT(problem, HasSubstr("amdgpu"));
}

TEST(HipList, IsEmptyWithoutARuntime) {
  const test::FakeHip fake("", "mi210", "mi210", "/nonexistent/libamdhip64.so");
  std::string problem;
  EXPECT_THAT(list_hip_devices(problem), IsEmpty());
  EXPECT_THAT(problem, IsEmpty());
}

}  // namespace
}  // namespace gputopo
