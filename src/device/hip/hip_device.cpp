#include "device/hip/hip_device.h"

#include <fmt/format.h>

#include "device/driver/info_check.h"
#include "device/driver/sysfs.h"
#include "device/hip/access_source.h"
#include "device/hip/chase_source.h"
#include "device/hip/code_source.h"
#include "device/hip/empty_kernels.h"
#include "device/hip/gfx_target.h"
#include "device/hip/gpu.h"
#include "device/hip/occupancy_module.h"
#include "device/hip/occupancy_source.h"
#include "device/hip/operation_modules.h"
#include "device/hip/operation_source.h"
#include "device/hip/program_modules.h"
#include "device/hip/stream_source.h"
#include "device/hip/streams.h"
#include "device/launch/launch_device.h"
#include "gputopo/error.h"

namespace gputopo {
namespace hip {
namespace {

struct NoClusters {
  explicit NoClusters(Gpu&) {}
  [[noreturn]] static void check(const ClusterProgram&) { throw NotSupportedError("AMD GPUs have no clusters"); }
  [[nodiscard]] static ProgramResult run(const ClusterProgram& program) { check(program); }
};

// See launch::LaunchDevice.
struct Amd {
  using Gpu = hip::Gpu;
  using Streams = hip::Streams;
  using CodeKernel = CodeModule;
  using AccessKernels = AccessModule;
  using Clusters = NoClusters;
  using OperationKernels = OperationModules;
  using OccupancyKernels = OccupancyModule;
  using EmptyKernels = hip::EmptyKernels;

  // hiprtc compiles one kernel at a time.
  static bool compiles_ahead() { return false; }
  static void expect(Gpu&, const auto&) {}

  static std::string native_code(const Gpu& gpu, const ChaseProgram&) { return generate_chase_source(gpu.target()); }
  static std::string native_code(const Gpu& gpu, const StreamProgram& program) {
    return generate_stream_source(gpu.target(), Streams::shape_of(program));
  }
  static std::string native_code(const Gpu& gpu, const InstructionProgram&) {
    return generate_code_source(gpu.target());
  }
  static std::string native_code(const Gpu& gpu, const AccessProgram&) { return generate_access_source(gpu.target()); }
  static std::string native_code(const Gpu&, const ClusterProgram&) { return {}; }
  static std::string native_code(const Gpu& gpu, const OccupancyProgram& program) {
    return generate_occupancy_source(gpu.target(), std::vector<std::uint32_t>{program.registers});
  }
  static std::string native_code(const Gpu& gpu, const LaunchProgram& program) {
    return generate_empty_source(gpu.target(), program.argument_bytes);
  }
  static std::string native_code(const Gpu& gpu, const OperationProgram& program) {
    const launch::OperationShape shape = launch::shape_of(program);
    if (!shape.has_text(&OperationInfo::cdna)) return {};
    return generate_operation_source(gpu.target(), std::vector{shape});
  }
};

class HipDevice : public launch::LaunchDevice<Amd> {
 public:
  using LaunchDevice::LaunchDevice;

  [[nodiscard]] std::vector<ProgramResult> run(std::span<const Program> programs) override {
    check_for_fault();
    const std::uint64_t masked_launches = gpu().masked_launches();
    try {
      return LaunchDevice::run(programs);
    } catch (const DeviceLostError&) {
      throw;
    } catch (const DeviceMemoryError&) {
      throw;
    } catch (const DeviceError&) {
      // A mask may have kept blocks from their CUs. Without masks they reach them.
      if (gpu().masked_launches() == masked_launches) throw;
      gpu().stop_masking();
      return LaunchDevice::run(programs);
    }
  }
};

DeviceListing listing_of(const Runtime& runtime, int ordinal) {
  DeviceListing listing{.spec = fmt::format("hip:{}", ordinal),
                        .name = runtime.device_name(ordinal),
                        .pci_address = runtime.pci_address(ordinal),
                        .detail = {}};
  const std::optional<KfdNode> node = read_kfd_node(sysfs_root(), listing.pci_address);
  if (!node) {
    listing.detail = "the kernel driver's topology does not list this GPU";
    return listing;
  }
  try {
    const GfxTarget& target = gfx_target(node->gfx_name);
    int compute_units = 0;
    runtime.check(runtime.device_get_attribute(&compute_units, DeviceAttribute::kSmCount, ordinal),
                  "hipDeviceGetAttribute");
    listing.detail = fmt::format("{} ({}), {} CUs", target.architecture, target.name, compute_units);
  } catch (const NotSupportedError& error) {
    listing.detail = error.what();
  }
  return listing;
}

}  // namespace
}  // namespace hip

std::unique_ptr<Device> open_hip_device(int ordinal) { return std::make_unique<hip::HipDevice>(ordinal); }

std::vector<DeviceListing> list_hip_devices(std::string& problem) {
  problem.clear();
  std::vector<DeviceListing> listings;
  if (!hip::runtime_present()) return listings;
  try {
    const auto runtime = hip::Runtime::load();
    int count = 0;
    runtime->check(runtime->get_device_count(&count), "hipGetDeviceCount");
    check_device_count(count, "hipGetDeviceCount");
    for (int ordinal = 0; ordinal < count; ++ordinal) listings.push_back(hip::listing_of(*runtime, ordinal));
  } catch (const DeviceError& error) {
    problem = error.what();
  }
  return listings;
}

bool hip_driver_present() { return hip::kernel_driver_present(); }

std::vector<std::string> hip_libraries() { return hip::runtime_libraries(); }

std::optional<int> first_hip_device() {
  if (!hip::runtime_present()) return std::nullopt;
  try {
    const auto runtime = hip::Runtime::load();
    int count = 0;
    runtime->check(runtime->get_device_count(&count), "hipGetDeviceCount");
    check_device_count(count, "hipGetDeviceCount");
    for (int ordinal = 0; ordinal < count; ++ordinal) {
      const auto node = hip::read_kfd_node(sysfs_root(), runtime->pci_address(ordinal));
      if (node && hip::has_kernels_for(node->gfx_name)) return ordinal;
    }
  } catch (const DeviceError&) {
    return std::nullopt;  // gputopo list says why
  }
  return std::nullopt;
}

}  // namespace gputopo
