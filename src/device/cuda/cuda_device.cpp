#include "device/cuda/cuda_device.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include "device/cuda/cluster_runner.h"
#include "device/cuda/program_modules.h"
#include "device/cuda/stream_runner.h"
#include "device/launch/access_runner.h"
#include "device/launch/chase_runner.h"
#include "device/launch/code_runner.h"

namespace gputopo {
namespace cuda {
namespace {

class CudaDevice : public Device {
 public:
  explicit CudaDevice(int ordinal)
      : gpu_(ordinal),
        chases_(gpu_),
        streams_(gpu_),
        code_kernel_(gpu_),
        codes_(gpu_, code_kernel_),
        access_kernels_(gpu_),
        accesses_(gpu_, access_kernels_),
        clusters_(gpu_) {}

  [[nodiscard]] const DeviceInfo& info() const override { return gpu_.info(); }

  [[nodiscard]] std::vector<ProgramResult> run(std::span<const Program> programs) override {
    for (const Program& program : programs) validate(program);
    std::vector<ProgramResult> results(programs.size());
    std::vector<launch::ChaseJob> chases;
    for (std::size_t i = 0; i < programs.size(); ++i) {
      if (const auto* chase = std::get_if<ChaseProgram>(&programs[i])) chases.push_back({chase, &results[i]});
    }
    gpu_.wake();
    chases_.run(chases);
    for (std::size_t i = 0; i < programs.size(); ++i) {
      if (const auto* stream = std::get_if<StreamProgram>(&programs[i])) results[i] = streams_.run(*stream);
      if (const auto* code = std::get_if<InstructionProgram>(&programs[i])) results[i] = codes_.run(*code);
      if (const auto* access = std::get_if<AccessProgram>(&programs[i])) results[i] = accesses_.run(*access);
      if (const auto* cluster = std::get_if<ClusterProgram>(&programs[i])) results[i] = clusters_.run(*cluster);
    }
    return results;
  }

  [[nodiscard]] std::vector<std::string> warnings() override { return gpu_.warnings(); }

  [[nodiscard]] std::string native_code(const Program& program) override {
    if (const auto* stream = std::get_if<StreamProgram>(&program))
      return generate_stream_ptx(gpu_.target(), shape_of(*stream));
    if (std::holds_alternative<InstructionProgram>(program)) return generate_code_ptx(gpu_.target());
    if (std::holds_alternative<AccessProgram>(program)) return generate_access_ptx(gpu_.target());
    if (std::holds_alternative<ClusterProgram>(program))
      return generate_cluster_ptx(cluster_target(gpu_.target(), gpu_.driver()->version()));
    return generate_chase_ptx(gpu_.target());
  }

 private:
  Gpu gpu_;
  launch::ChaseRunner chases_;
  StreamRunner streams_;
  CodeModule code_kernel_;
  launch::CodeRunner codes_;
  AccessModule access_kernels_;
  launch::AccessRunner accesses_;
  ClusterRunner clusters_;
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

std::unique_ptr<Device> open_cuda_device(int ordinal) { return std::make_unique<cuda::CudaDevice>(ordinal); }

std::vector<DeviceListing> list_cuda_devices(std::string& problem) {
  problem.clear();
  std::vector<DeviceListing> listings;
  if (!cuda::library_can_be_loaded()) return listings;
  try {
    const auto driver = cuda::Driver::load();
    int count = 0;
    driver->check(driver->device_get_count(&count), "cuDeviceGetCount");
    for (int ordinal = 0; ordinal < count; ++ordinal) listings.push_back(cuda::listing_of(*driver, ordinal));
  } catch (const DeviceError& error) {
    problem = error.what();
  }
  return listings;
}

bool cuda_driver_present() {
  std::string problem;
  return !list_cuda_devices(problem).empty();
}

}  // namespace gputopo
