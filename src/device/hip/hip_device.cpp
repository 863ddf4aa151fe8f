#include "device/hip/hip_device.h"

#include <fmt/format.h>

#include "device/hip/gpu.h"
#include "device/hip/program_modules.h"
#include "device/hip/stream_runner.h"
#include "device/launch/access_runner.h"
#include "device/launch/chase_runner.h"
#include "device/launch/code_runner.h"
#include "gputopo/error.h"

namespace gputopo {
namespace hip {
namespace {

class HipDevice : public Device {
 public:
  explicit HipDevice(int ordinal)
      : gpu_(ordinal),
        chases_(gpu_),
        streams_(gpu_),
        code_kernel_(gpu_),
        codes_(gpu_, code_kernel_),
        access_kernels_(gpu_),
        accesses_(gpu_, access_kernels_) {}

  [[nodiscard]] const DeviceInfo& info() const override { return gpu_.info(); }

  [[nodiscard]] std::vector<ProgramResult> run(std::span<const Program> programs) override {
    check_for_fault();
    const std::uint64_t masked_launches = gpu_.masked_launches();
    try {
      return run_all(programs);
    } catch (const DeviceLostError&) {
      throw;
    } catch (const DeviceMemoryError&) {
      throw;
    } catch (const DeviceError&) {
      // A mask may have kept the blocks from where they had to be; without masks they come there.
      if (gpu_.masked_launches() == masked_launches) throw;
      gpu_.stop_masking();
      return run_all(programs);
    }
  }

  [[nodiscard]] std::vector<std::string> warnings() override { return gpu_.warnings(); }

  [[nodiscard]] std::string native_code(const Program& program) override {
    if (const auto* stream = std::get_if<StreamProgram>(&program))
      return generate_stream_source(gpu_.target(), shape_of(*stream));
    if (std::holds_alternative<AccessProgram>(program)) return generate_access_source(gpu_.target());
    if (std::holds_alternative<InstructionProgram>(program)) return generate_code_source(gpu_.target());
    return generate_chase_source(gpu_.target());
  }

 private:
  [[nodiscard]] std::vector<ProgramResult> run_all(std::span<const Program> programs) {
    std::vector<ProgramResult> results(programs.size());
    std::vector<launch::ChaseJob> chases;
    for (std::size_t i = 0; i < programs.size(); ++i) {
      validate(programs[i]);
      if (const auto* chase = std::get_if<ChaseProgram>(&programs[i])) chases.push_back({chase, &results[i]});
      if (std::holds_alternative<ClusterProgram>(programs[i])) throw NotSupportedError("AMD GPUs have no clusters");
    }
    gpu_.wake();
    chases_.run(chases);
    for (std::size_t i = 0; i < programs.size(); ++i) {
      if (const auto* stream = std::get_if<StreamProgram>(&programs[i])) results[i] = streams_.run(*stream);
      if (const auto* code = std::get_if<InstructionProgram>(&programs[i])) results[i] = codes_.run(*code);
      if (const auto* access = std::get_if<AccessProgram>(&programs[i])) results[i] = accesses_.run(*access);
    }
    return results;
  }

  Gpu gpu_;
  launch::ChaseRunner chases_;
  StreamRunner streams_;
  CodeModule code_kernel_;
  launch::CodeRunner codes_;
  AccessModule access_kernels_;
  launch::AccessRunner accesses_;
};

DeviceListing listing_of(const Runtime& runtime, int ordinal) {
  DeviceListing listing{.spec = fmt::format("hip:{}", ordinal),
                        .name = runtime.device_name(ordinal),
                        .pci_address = runtime.pci_address(ordinal),
                        .detail = {}};
  const std::optional<KfdNode> node = read_kfd_node(sysfs_root(), listing.pci_address);
  if (!node) {
    listing.detail = "the kernel driver's topology does not list it";
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
    for (int ordinal = 0; ordinal < count; ++ordinal) listings.push_back(hip::listing_of(*runtime, ordinal));
  } catch (const DeviceError& error) {
    problem = error.what();
  }
  return listings;
}

std::optional<int> first_hip_device() {
  if (!hip::runtime_present()) return std::nullopt;
  try {
    const auto runtime = hip::Runtime::load();
    int count = 0;
    runtime->check(runtime->get_device_count(&count), "hipGetDeviceCount");
    for (int ordinal = 0; ordinal < count; ++ordinal) {
      const auto node = hip::read_kfd_node(hip::sysfs_root(), runtime->pci_address(ordinal));
      if (node && hip::has_kernels_for(node->gfx_name)) return ordinal;
    }
  } catch (const DeviceError&) {
    return std::nullopt;  // gputopo list says why
  }
  return std::nullopt;
}

}  // namespace gputopo
