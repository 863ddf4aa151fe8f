#include "device/cuda/cuda_device.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "device/cuda/access_ptx.h"
#include "device/cuda/chase_ptx.h"
#include "device/cuda/cluster_ptx.h"
#include "device/cuda/cluster_runner.h"
#include "device/cuda/code_ptx.h"
#include "device/cuda/empty_kernels.h"
#include "device/cuda/launch_ptx.h"
#include "device/cuda/nvml_api.h"
#include "device/cuda/occupancy_modules.h"
#include "device/cuda/occupancy_ptx.h"
#include "device/cuda/operation_modules.h"
#include "device/cuda/operation_ptx.h"
#include "device/cuda/program_modules.h"
#include "device/cuda/stream_ptx.h"
#include "device/cuda/streams.h"
#include "device/driver/info_check.h"
#include "device/launch/launch_device.h"
#include "file/environment.h"
#include "file/folder_entries.h"

namespace gputopo {
namespace cuda {
namespace {

// See launch::LaunchDevice.
struct Nvidia {
  using Gpu = cuda::Gpu;
  using Streams = cuda::Streams;
  using CodeKernel = CodeModule;
  using AccessKernels = AccessModule;
  using Clusters = ClusterRunner;
  using OperationKernels = OperationModules;
  using OccupancyKernels = OccupancyModules;
  using EmptyKernels = cuda::EmptyKernels;

  // Chases compile when the device is opened, and operations compile together. Occupancy programs have many kernels,
  // and only their runner knows which it needs.
  static bool compiles_ahead() { return CompileAhead::has_room(); }
  static void expect(Gpu&, const ChaseProgram&) {}
  static void expect(Gpu&, const OperationProgram&) {}
  static void expect(Gpu&, const OccupancyProgram&) {}
  static void expect(Gpu&, const LaunchProgram&) {}
  static void expect(Gpu& gpu, const auto& program) { gpu.compiler().expect(native_code(gpu, program)); }

  static std::string native_code(const Gpu& gpu, const ChaseProgram& program) {
    const std::uint64_t local_bytes = launch::lay_out(program, gpu.info().warp_size).local_bytes;
    return local_bytes == 0 ? generate_chase_ptx(gpu.target())
                            : generate_local_chase_ptx(gpu.target(), local_frame_bytes(local_bytes));
  }
  static std::string native_code(const Gpu& gpu, const StreamProgram& program) {
    return generate_stream_ptx(gpu.target(), Streams::shape_of(program));
  }
  static std::string native_code(const Gpu& gpu, const InstructionProgram& program) {
    const CodeStepKind kind = program.steps.empty() ? CodeStepKind::kRun : program.steps.front().kind;
    if (is_operands(kind)) return generate_operand_ptx(gpu.target());
    return is_jumps(kind) ? generate_jump_ptx(gpu.target()) : generate_code_ptx(gpu.target());
  }
  static std::string native_code(const Gpu& gpu, const AccessProgram&) { return generate_access_ptx(gpu.target()); }
  static std::string native_code(const Gpu& gpu, const ClusterProgram&) {
    return generate_cluster_ptx(cluster_target(gpu.target(), gpu.driver()->version()));
  }
  static std::string native_code(const Gpu& gpu, const OccupancyProgram& program) {
    return generate_occupancy_ptx(gpu.target(), std::vector{program.registers});
  }
  static std::string native_code(const Gpu& gpu, const LaunchProgram& program) {
    return generate_empty_ptx(launch_target(gpu.target(), gpu.driver()->version()).ptx, program.argument_bytes);
  }
  static std::string native_code(const Gpu& gpu, const OperationProgram& program) {
    const launch::OperationShape shape = launch::shape_of(program);
    if (!shape.has_text(&OperationInfo::ptx)) return {};
    return generate_operation_ptx(
        operation_target(gpu.target(), gpu.driver()->version(), is_own_target(gpu.target(), gpu.info())),
        std::vector{shape});
  }
};

bool library_can_be_loaded() {
  void* library = dlopen(library_path("GPUTOPO_LIBCUDA", "libcuda.so.1").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) dlclose(library);
  return library != nullptr;
}

DeviceListing listing_of(const Driver& driver, int ordinal) {
  DeviceListing listing{.spec = fmt::format("cuda:{}", ordinal)};
  DeviceHandle device = 0;
  driver.check(driver.device_get(&device, ordinal), fmt::format("cuDeviceGet({})", ordinal));
  listing.name = driver.device_name(device);
  listing.pci_address = driver.pci_address(device);
  int major = 0;
  int minor = 0;
  std::size_t bytes = 0;
  driver.check(driver.device_get_attribute(&major, DeviceAttribute::kComputeCapabilityMajor, device),
               "cuDeviceGetAttribute");
  driver.check(driver.device_get_attribute(&minor, DeviceAttribute::kComputeCapabilityMinor, device),
               "cuDeviceGetAttribute");
  driver.check(driver.device_total_mem(&bytes, device), "cuDeviceTotalMem");
  listing.detail =
      fmt::format("compute capability {}.{}, {:.1f} GiB", major, minor, static_cast<double>(bytes) / (1ull << 30));
  try {
    static_cast<void>(choose_ptx_target(major, minor, driver.version()));
  } catch (const DeviceError& error) {
    listing.detail = error.what();
  }
  return listing;
}

}  // namespace
}  // namespace cuda

std::unique_ptr<Device> open_cuda_device(int ordinal) {
  return std::make_unique<launch::LaunchDevice<cuda::Nvidia>>(ordinal);
}

bool names_mig_instance(std::string_view spec) { return spec.starts_with("cuda:MIG-"); }

std::unique_ptr<Device> open_mig_instance(const std::string& uuid) {
  const auto driver = cuda::Driver::load();
  int count = 0;
  driver->check(driver->device_get_count(&count), "cuDeviceGetCount");
  check_device_count(count, "cuDeviceGetCount");
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    cuda::DeviceHandle device = 0;
    driver->check(driver->device_get(&device, ordinal), fmt::format("cuDeviceGet({})", ordinal));
    if (driver->mig_uuid(device) == uuid) return open_cuda_device(ordinal);
  }
  throw DeviceError(
      fmt::format("the driver does not show {} to this process: start gputopo with CUDA_VISIBLE_DEVICES={}, or choose "
                  "another device ('gputopo list')",
                  uuid, uuid));
}

std::vector<DeviceListing> list_cuda_devices(std::string& problem) {
  problem.clear();
  std::vector<DeviceListing> listings;
  if (!cuda::library_can_be_loaded()) return listings;
  try {
    const auto driver = cuda::Driver::load();
    int count = 0;
    driver->check(driver->device_get_count(&count), "cuDeviceGetCount");
    check_device_count(count, "cuDeviceGetCount");
    for (int ordinal = 0; ordinal < count; ++ordinal) listings.push_back(cuda::listing_of(*driver, ordinal));
  } catch (const DeviceError& error) {
    problem = error.what();
  }
  return listings;
}

std::vector<DeviceListing> list_mig_devices() {
  std::vector<DeviceListing> listings;
  for (const auto& [pci_address, instance] : cuda::list_mig_instances()) {
    if (!instance.uuid.starts_with("MIG-")) continue;  // the library could not tell its UUID
    std::string detail = "MIG instance";
    if (instance.sms) detail += fmt::format(", {} SMs", *instance.sms);
    if (instance.memory_bytes) {
      detail += fmt::format(", {:.1f} GiB", static_cast<double>(*instance.memory_bytes) / (1ull << 30));
    }
    listings.push_back({fmt::format("cuda:{}", instance.uuid), instance.name, pci_address, detail});
  }
  return listings;
}

bool cuda_driver_present() {
  std::string problem;
  return !list_cuda_devices(problem).empty();
}

bool kernel_has_nvidia_gpus() {
  const char* const proc = environment_variable("GPUTOPO_PROC");
  const std::filesystem::path folder = proc == nullptr || *proc == '\0' ? "/proc" : proc;
  return !folder_entries(folder / "driver/nvidia/gpus").empty();
}

std::vector<std::string> cuda_libraries() {
  return {cuda::library_path("GPUTOPO_LIBCUDA", "libcuda.so.1"),
          cuda::library_path("GPUTOPO_LIBNVML", "libnvidia-ml.so.1")};
}

}  // namespace gputopo
