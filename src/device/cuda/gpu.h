// One opened NVIDIA GPU.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "device/cuda/compile_ahead.h"
#include "device/cuda/driver_api.h"
#include "device/cuda/kernel_layout.h"
#include "device/cuda/kernel_timer.h"
#include "device/cuda/local_memory.h"
#include "device/cuda/nvml_api.h"
#include "device/launch/chase_gpu.h"
#include "gputopo/device.h"

namespace gputopo::cuda {

// What the driver says of clusters.
struct ClusterRoom {
  std::uint32_t clusters_at_once = 0;  // of this launch's size
  std::uint32_t largest = 0;           // blocks of the largest cluster of such blocks
};

class Gpu : public launch::ChaseGpu {
 public:
  explicit Gpu(int ordinal);

  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  [[nodiscard]] const std::shared_ptr<const Driver>& driver() const { return driver_; }
  [[nodiscard]] const PtxTarget& target() const { return target_; }
  [[nodiscard]] const Module& chase_module();  // compiled at the first call
  // That of chases with so many bytes of local memory for each warp; the one above where there are none.
  [[nodiscard]] const Module& chase_module(std::uint64_t local_bytes);

  [[nodiscard]] DevicePointer reserve(std::uint64_t bytes) override;
  [[nodiscard]] std::uint64_t carve_out_for(std::uint64_t wanted_bytes, std::uint64_t shared_bytes,
                                            std::uint32_t blocks) const override;
  [[nodiscard]] std::uint64_t shared_bytes_for_one_block(std::uint64_t carve_out_bytes,
                                                         std::uint64_t shared_bytes) const override;
  void prepare_local(std::uint64_t local_bytes) override;
  void launch_fill(launch::Address tasks, std::uint32_t arrays, std::uint64_t most_elements) override;
  void launch_chase(const launch::ChaseLaunch& launch) override;
  // Throws NotSupportedError for more texels than this GPU's linear textures have.
  [[nodiscard]] launch::TextureView make_texture(launch::Address address, std::uint64_t bytes,
                                                 std::uint32_t channels) override;
  void set_constants(launch::Address image, std::uint64_t local_bytes) override;
  // The constant bank of a module begins with these bytes.
  void copy_to_bank(const Module& module, launch::Address image, std::uint64_t bytes) const;
  void check(const ChaseProgram& program) const override;
  [[nodiscard]] std::uint32_t patience_cycles() const override { return 20'000; }
  [[nodiscard]] BlockRecord spin_all(std::uint64_t nanoseconds) override;

  // What compiles for this GPU.
  [[nodiscard]] CompileAhead& compiler() { return *compiler_; }

  // `parameters` point at the kernel's arguments. Returns once the kernel has ended, or is queued where launches are
  // held; throws when it failed.
  void run(FunctionHandle function, const std::string& name, const launch::KernelLaunch& launch,
           std::vector<void*> parameters);
  // Blocks that fit on one SM at a time, at most `wanted`.
  [[nodiscard]] std::uint32_t resident_blocks(FunctionHandle function, const launch::KernelLaunch& launch,
                                              std::uint32_t wanted) const;

  // Throws NotSupportedError where the driver has no clusters.
  void require_clusters() const;
  // Also allows the kernel clusters of sizes that are not portable. Throws NotSupportedError where there is no room for
  // one of this launch's.
  [[nodiscard]] ClusterRoom cluster_room(FunctionHandle function, const launch::KernelLaunch& launch) const;

  void upload(DevicePointer to, const void* from, std::uint64_t bytes) const override;
  void download(void* to, DevicePointer from, std::uint64_t bytes) const override;
  void clear(DevicePointer address, std::uint64_t bytes) const override;
  void expect_download(DevicePointer from, std::uint64_t bytes) override { expected_ = {from, bytes}; }
  void hold_launches(bool held) override { holds_ = held; }
  void finish_launches() override {
    if (!queued_.empty()) finish();
  }

  // How the banks are laid out for launches of the kernel (AccessProgram::bank_mode_bytes). Throws NotSupportedError
  // where a GPU cannot be asked, unless it is 0.
  void set_bank_mode(FunctionHandle function, std::uint32_t bytes) const;

  void begin_metering() override;
  // Of a part of a GPU nobody tells.
  [[nodiscard]] std::optional<double> energy_joules() const override {
    return info_.instance == GpuInstance{} ? read_energy_joules(info_.pci_address) : std::nullopt;
  }
  [[nodiscard]] double kernel_seconds() const override { return timer_ ? timer_->seconds() : 0; }

  // As Device::warnings().
  [[nodiscard]] std::vector<std::string> warnings() const;

 private:
  void allocate_arena(std::uint64_t bytes, std::uint64_t& alignment);
  void set_carve_out(FunctionHandle function, const launch::KernelLaunch& launch) const;
  void set_attribute(FunctionHandle function, FunctionAttribute attribute, int value, const char* name) const;
  [[nodiscard]] Status start(FunctionHandle function, const launch::KernelLaunch& launch, void** parameters) const;
  // run() in two parts: of several kernels that run one behind the other only the end of the last need be waited for.
  void queue(FunctionHandle function, const std::string& name, const launch::KernelLaunch& launch,
             std::vector<void*> parameters);
  void finish();

  std::shared_ptr<const Driver> driver_;
  DeviceInfo info_;
  PtxTarget target_;
  std::uint64_t max_linear_texels_ = 0;
  std::optional<std::uint64_t> throttle_reasons_;  // before it was made hot; not set: it was not
  std::string busy_warning_;
  std::shared_ptr<Context> context_;  // before all that lives in it
  std::optional<CompileAhead> compiler_;
  std::optional<KernelTimer> timer_;
  // Device memory, as much as was ever needed.
  Memory arena_;
  std::uint64_t reserved_bytes_ = 0;  // of it, at last
  Memory spin_record_;                // of its own: a spin may stand between a program's launches
  std::unique_ptr<Module> chase_module_;
  LocalModules local_modules_;
  mutable std::map<std::pair<FunctionHandle, FunctionAttribute>, int> attributes_;  // that functions have

  struct Part {
    DevicePointer from = 0;
    std::uint64_t bytes = 0;
    [[nodiscard]] bool holds(DevicePointer address, std::uint64_t size) const {
      return size <= bytes && address >= from && address - from <= bytes - size;
    }
  };
  std::optional<PinnedMemory> pinned_;
  Part expected_;                    // with the next launch that is waited for
  mutable Part fetched_;             // what is in the pinned memory, while it is as it is in the device's
  bool holds_ = false;               // what run() launches is not waited for
  std::vector<std::string> queued_;  // kernels that nobody has waited for, each name once
  std::chrono::steady_clock::time_point queued_at_;  // the last of them, of a row that is held the first
};

}  // namespace gputopo::cuda
