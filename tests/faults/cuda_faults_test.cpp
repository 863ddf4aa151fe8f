// Failures of a driver or a GPU become exceptions of the right type, with one line that says what to do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>

#include "device/cuda/cuda_device.h"
#include "device/cuda/driver_api.h"
#include "device/cuda/nvml_api.h"
#include "support/command.h"
#include "support/fake_cuda.h"
#include "support/message_of.h"

namespace gputopo {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

void run_one(Device& device) {
  const Program program = test::kChase;
  static_cast<void>(device.run({&program, 1}));
}

// Opens the device, runs a program and returns the message. The exception must have exactly this type.
template <typename Exception>
std::string cuda_message(const std::string& behaviour, const std::string& library = GPUTOPO_FAKE_LIBCUDA) {
  const test::FakeCuda fake(behaviour, library);
  return test::message_of<Exception>(behaviour, [] { run_one(*open_cuda_device(0)); });
}

TEST(CudaFaults, NoDriver) {
  EXPECT_THAT(cuda_message<DeviceError>("", "/nonexistent/libcuda.so.1"),
              AllOf(HasSubstr("no NVIDIA driver: /nonexistent/libcuda.so.1 could not be loaded"),
                    HasSubstr("--device sim:h200")));
}

TEST(CudaFaults, NoDevice) {
  EXPECT_THAT(cuda_message<DeviceError>("no_device"),
              AllOf(HasSubstr("CUDA_ERROR_NO_DEVICE"), HasSubstr("CUDA_VISIBLE_DEVICES")));
}

TEST(CudaFaults, DriverTooOldNamesBothVersions) {
  EXPECT_THAT(cuda_message<DeviceError>("old_driver"),
              HasSubstr("driver too old: it supports CUDA 8.0, but gputopo needs 9.0 or later"));
}

TEST(CudaFaults, NoPermission) { EXPECT_THAT(cuda_message<DeviceError>("no_permission"), HasSubstr("permission")); }

TEST(CudaFaults, MismatchOfLibraryAndKernelModule) {
  EXPECT_THAT(cuda_message<DeviceError>("mismatch"), HasSubstr("reboot"));
}

TEST(CudaFaults, MissingSymbol) {
  EXPECT_THAT(cuda_message<DeviceError>("", GPUTOPO_FAKE_LIBCUDA_INCOMPLETE),
              AllOf(HasSubstr("cuLaunchKernel"), HasSubstr("update the driver")));
}

TEST(CudaFaults, AnotherProcessHoldsIt) {
  EXPECT_THAT(cuda_message<DeviceLostError>("busy"), HasSubstr("another process holds this GPU in exclusive mode"));
}

TEST(CudaFaults, UnknownOrdinalSaysHowManyThereAre) {
  const test::FakeCuda fake;
  try {
    static_cast<void>(open_cuda_device(3));
    FAIL();
  } catch (const DeviceError& error) {
    EXPECT_THAT(error.what(), HasSubstr("there is no cuda:3: the driver reports 1 CUDA device"));
  }
}

TEST(CudaFaults, CompilerLogIsInTheMessage) {
  EXPECT_THAT(cuda_message<DeviceError>("bad_ptx"),
              AllOf(HasSubstr("cuModuleLoadDataEx"), HasSubstr("log: ptxas fatal : told to fail second line")));
}

TEST(CudaFaults, OutOfMemoryNamesTheAllocation) {
  EXPECT_THAT(cuda_message<DeviceMemoryError>("out_of_memory=1"),
              AllOf(HasSubstr("cuMemAlloc("), HasSubstr("end other programs that use it")));
}

TEST(CudaFaults, TooLargeAnArrayIsAMemoryErrorAndTheDeviceGoesOn) {
  const test::FakeCuda fake;
  const auto device = open_cuda_device(0);
  ChaseProgram large = test::kChase;
  large.arrays[0] = {.bytes = 8ull << 30, .stride_bytes = 1 << 20};
  const Program program = large;
  EXPECT_THROW(static_cast<void>(device->run({&program, 1})), DeviceMemoryError);
  EXPECT_NO_THROW(run_one(*device));
}

TEST(CudaFaults, KernelFailuresLoseTheDevice) {
  EXPECT_THAT(cuda_message<DeviceLostError>("illegal_address"),
              AllOf(HasSubstr("kernel "), HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS")));
  EXPECT_THAT(cuda_message<DeviceLostError>("launch_failed"), HasSubstr("CUDA_ERROR_LAUNCH_FAILED"));
  EXPECT_THAT(cuda_message<DeviceLostError>("lost"), HasSubstr("CUDA_ERROR_DEVICE_UNAVAILABLE"));
}

TEST(CudaFaults, ALostDeviceStaysLost) {
  const test::FakeCuda fake("lost_after=8");
  const auto device = open_cuda_device(0);
  run_one(*device);
  const auto run_some = [&] {
    for (int i = 0; i < 8; ++i) run_one(*device);
  };
  EXPECT_THROW(run_some(), DeviceLostError);
  EXPECT_THROW(run_one(*device), DeviceLostError);
}

TEST(CudaFaults, EverythingIsFreed) {
  const test::TemporaryFolder folder;
  const std::string report = folder.file("leaks");
  {
    const test::FakeCuda fake("leak_report=" + report);
    const auto device = open_cuda_device(0);
    run_one(*device);
    ChaseProgram texture = test::kChase;
    texture.arrays[0].space = Space::kTexture;
    const std::vector<Program> programs = {
        texture, StreamProgram{.space = Space::kTexture, .bytes = 4096, .threads_per_block = 32}};
    static_cast<void>(device->run(programs));
  }
  std::ifstream file(report);
  std::string line;
  std::getline(file, line);
  EXPECT_EQ(line, "allocations 0 modules 0 textures 0");
}

TEST(CudaFaults, ListingTellsWhyADriverCannotBeUsed) {
  std::string problem;
  {
    const test::FakeCuda fake("mismatch");
    EXPECT_TRUE(list_cuda_devices(problem).empty());
    EXPECT_THAT(problem, HasSubstr("have different versions"));
    EXPECT_FALSE(cuda_driver_present());
  }
  {
    const test::FakeCuda fake("", "/nonexistent/libcuda.so.1");
    EXPECT_TRUE(list_cuda_devices(problem).empty());
    EXPECT_EQ(problem, "");
    EXPECT_FALSE(cuda_driver_present());
  }
  const test::FakeCuda fake;
  const auto listings = list_cuda_devices(problem);
  ASSERT_EQ(listings.size(), 1u);
  EXPECT_EQ(listings[0].spec, "cuda:0");
  EXPECT_EQ(listings[0].name, "Fake GPU");
  EXPECT_EQ(listings[0].pci_address, "0000:0f:00.0");
  EXPECT_EQ(listings[0].detail, "compute capability 9.0, 1.0 GiB");
  EXPECT_TRUE(cuda_driver_present());
}

// Every failure of cuInit comes with advice.
TEST(CudaFaults, EveryStartingFailureIsExplained) {
  using namespace cuda;
  const std::string nowhere = "/nonexistent";
  EXPECT_THAT(explain_failure(kErrorNoDevice, 0, nowhere), HasSubstr("reports no GPU"));
  EXPECT_THAT(explain_failure(kErrorInsufficientDriver, 0), HasSubstr("update the NVIDIA driver"));
  EXPECT_THAT(explain_failure(kErrorSystemNotReady, 0), HasSubstr("nvidia-fabricmanager"));
  EXPECT_THAT(explain_failure(kErrorSystemDriverMismatch, 0), HasSubstr("different versions"));
  EXPECT_THAT(explain_failure(kErrorCompatNotSupportedOnDevice, 0), HasSubstr("LD_LIBRARY_PATH"));
  EXPECT_THAT(explain_failure(kErrorUnknown, 0, nowhere), HasSubstr("dmesg"));
  EXPECT_THAT(explain_failure(kErrorStubLibrary, 0), HasSubstr("stub"));
  EXPECT_EQ(explain_failure(1, 0), "");
}

// Root may open every file, so a child process tries as another user.
TEST(CudaFaults, AForbiddenDeviceNodeIsNamed) {
  const test::TemporaryFolder folder;
  const std::string node = folder.file("nvidia0");
  std::ofstream(node) << "";
  std::filesystem::permissions(node, std::filesystem::perms::none);
  std::filesystem::permissions(folder.path(), std::filesystem::perms::owner_all | std::filesystem::perms::others_read |
                                                  std::filesystem::perms::others_exec);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    constexpr int kNotNobody = 2;
    if (geteuid() == 0 && (setgid(kNobody) != 0 || setuid(kNobody) != 0)) _exit(kNotNobody);
    const std::string said = cuda::explain_failure(cuda::kErrorNoDevice, 0, folder.path());
    _exit(said.find("no permission to open " + node) == std::string::npos ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// The warnings for these readings of the management library.
std::vector<std::string> warnings_with(const std::string& readings) {
  const test::FakeCuda fake;
  setenv("GPUTOPO_LIBNVML", GPUTOPO_FAKE_NVML_LIBRARY, 1);
  setenv("GPUTOPO_FAKE_NVML", readings.c_str(), 1);
  const std::unique_ptr<Device> device = open_cuda_device(0);
  EXPECT_THAT(device->info().driver_version, HasSubstr("999.1"));
  std::vector<std::string> warnings = device->warnings();
  unsetenv("GPUTOPO_FAKE_NVML");
  return warnings;
}

TEST(CudaSettings, AreToldByTheDriverAndItsManagementLibrary) {
  const test::FakeCuda fake;
  setenv("GPUTOPO_LIBNVML", GPUTOPO_FAKE_NVML_LIBRARY, 1);
  setenv("GPUTOPO_FAKE_NVML", "persistence=1,milliwatts=700000", 1);
  const DeviceInfo info = open_cuda_device(0)->info();
  unsetenv("GPUTOPO_FAKE_NVML");
  EXPECT_EQ(info.ecc_enabled, true);
  EXPECT_EQ(info.compute_mode, "exclusive_process");
  EXPECT_EQ(info.persistence_mode, true);
  EXPECT_EQ(info.power_limit_watts, 700);
  EXPECT_EQ(info.max_grid_blocks, (std::vector<std::uint64_t>{0x7fffffff, 65535, 65535}));
}

TEST(CudaSettings, EnergyIsToldAsFarAsTheManagementLibraryTells) {
  const test::FakeCuda fake;
  setenv("GPUTOPO_LIBNVML", GPUTOPO_FAKE_NVML_LIBRARY, 1);
  const std::string address = open_cuda_device(0)->info().pci_address;
  const std::optional<double> first = cuda::read_energy_joules(address);
  const std::optional<double> second = cuda::read_energy_joules(address);
  ASSERT_TRUE(first && second);
  EXPECT_DOUBLE_EQ(*second - *first, 4);
  for (const char* mode : {"error", "unknown", "ones", "huge"}) {
    setenv("GPUTOPO_FAKE_HOSTILE", (std::string(mode) + ":nvmlDeviceGetTotalEnergyConsumption").c_str(), 1);
    EXPECT_EQ(cuda::read_energy_joules(address), std::nullopt) << mode;
  }
  unsetenv("GPUTOPO_FAKE_HOSTILE");
}

// A MIG instance.
class CudaMig : public ::testing::Test {
 protected:
  explicit CudaMig(const std::string& visible = "uuid=4") : fake_(visible) {
    setenv("GPUTOPO_LIBNVML", GPUTOPO_FAKE_NVML_LIBRARY, 1);
    setenv("GPUTOPO_FAKE_NVML", "mig=1", 1);
  }
  ~CudaMig() override { unsetenv("GPUTOPO_FAKE_NVML"); }

 private:
  test::FakeCuda fake_;
};

TEST_F(CudaMig, ADeviceSaysWhatOfTheGpuItIs) {
  const DeviceInfo info = open_cuda_device(0)->info();
  EXPECT_EQ(info.mig_enabled, true);
  EXPECT_EQ(info.instance, (GpuInstance{.profile = "4g.20gb",
                                        .compute_slices = 4,
                                        .compute_slices_of_gpu = 7,
                                        .memory_slices = 4,
                                        .memory_slices_of_gpu = 8}));
}

TEST_F(CudaMig, EveryInstanceIsListedWithWhatOpensIt) {
  std::string problem;
  std::vector<std::string> lines;
  for (const DeviceListing& listing : list_devices(problem)) {
    if (!listing.spec.starts_with("cuda:")) continue;
    lines.push_back(listing.spec + " " + listing.name + " " + listing.pci_address + " " + listing.detail);
  }
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_THAT(lines[0], HasSubstr("cuda:0 "));
  EXPECT_EQ(lines[1],
            "cuda:MIG-00000000-0000-0000-0000-000000000004 NVIDIA Test GPU MIG 4g.20gb 0000:0f:00.0 "
            "MIG instance, 56 SMs, 19.7 GiB");
  EXPECT_THAT(lines[2], HasSubstr("MIG 1c.3g.20gb 0000:0f:00.0 MIG instance, 14 SMs"));
}

TEST_F(CudaMig, AnInstanceIsOpenedByItsUuid) {
  EXPECT_EQ(open_device("cuda:MIG-00000000-0000-0000-0000-000000000004", 1)->info().instance.profile, "4g.20gb");
  EXPECT_THAT(
      test::message_of<DeviceError>(
          "another", [] { static_cast<void>(open_device("cuda:MIG-00000000-0000-0000-0000-000000000003", 1)); }),
      HasSubstr("CUDA_VISIBLE_DEVICES=MIG-00000000-0000-0000-0000-000000000003"));
}

// An instance with fewer compute slices than memory slices.
TEST(CudaMigOfPart, SaysSo) {
  const test::FakeCuda fake("uuid=3");
  setenv("GPUTOPO_LIBNVML", GPUTOPO_FAKE_NVML_LIBRARY, 1);
  setenv("GPUTOPO_FAKE_NVML", "mig=1", 1);
  const GpuInstance instance = open_cuda_device(0)->info().instance;
  unsetenv("GPUTOPO_FAKE_NVML");
  EXPECT_EQ(instance.profile, "1c.3g.20gb");
  EXPECT_EQ(instance.compute_slices, 1u);
  EXPECT_EQ(instance.memory_slices, 4u);
}

TEST(CudaWarnings, OtherProcessesAtWork) {
  EXPECT_THAT(warnings_with("busy=80,processes=2"), ElementsAre(HasSubstr("2 other processes kept this GPU 80% busy")));
  // Recent work of this process itself, and idle processes, give no warning.
  EXPECT_THAT(warnings_with("busy=80,processes=0"), IsEmpty());
  EXPECT_THAT(warnings_with("busy=0,processes=3"), IsEmpty());
}

TEST(CudaWarnings, ClocksHeldDown) {
  EXPECT_THAT(warnings_with("throttle=0x4"), ElementsAre(HasSubstr("power limit")));
  EXPECT_THAT(warnings_with("throttle=0x40"), ElementsAre(HasSubstr("temperature")));
  EXPECT_THAT(warnings_with("throttle=0x1"), IsEmpty());  // idle
}

}  // namespace
}  // namespace gputopo
