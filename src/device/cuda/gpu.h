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

// The driver's limits for clusters.
struct ClusterRoom {
  std::uint32_t clusters_at_once = 0;  // clusters of this launch's size
  std::uint32_t largest = 0;           // blocks of the largest possible cluster
};

class Gpu : public launch::ChaseGpu {
 public:
  explicit Gpu(int ordinal);

  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  [[nodiscard]] const std::shared_ptr<const Driver>& driver() const { return driver_; }
  [[nodiscard]] const PtxTarget& target() const { return target_; }
  [[nodiscard]] const Module& chase_module();  // compiled at the first call
  // The module for chases with this much local memory for each warp; the one above if there is none.
  [[nodiscard]] const Module& chase_module(std::uint64_t local_bytes);

  [[nodiscard]] DevicePointer reserve(std::uint64_t bytes) override;
  [[nodiscard]] std::uint64_t carve_out_for(std::uint64_t wanted_bytes, std::uint64_t shared_bytes,
                                            std::uint32_t blocks) const override;
  [[nodiscard]] std::uint64_t shared_bytes_for_one_block(std::uint64_t carve_out_bytes,
                                                         std::uint64_t shared_bytes) const override;
  void prepare_local(std::uint64_t local_bytes) override;
  void launch_fill(launch::Address tasks, std::uint32_t arrays, std::uint64_t most_elements) override;
  void launch_chase(const launch::ChaseLaunch& launch) override;
  // Throws NotSupportedError if this GPU's linear textures cannot have so many texels.
  [[nodiscard]] launch::TextureView make_texture(launch::Address address, std::uint64_t bytes,
                                                 std::uint32_t channels) override;
  void set_constants(launch::Address image, std::uint64_t local_bytes) override;
  // Copies these bytes to the start of a module's constant bank.
  void copy_to_bank(const Module& module, launch::Address image, std::uint64_t bytes) const;
  void check(const ChaseProgram& program) const override;
  [[nodiscard]] std::uint32_t patience_cycles() const override { return 20'000; }
  [[nodiscard]] BlockRecord spin_all(std::uint64_t nanoseconds) override;

  [[nodiscard]] CompileAhead& compiler() { return *compiler_; }

  // `parameters` point to the kernel's arguments. Returns once the kernel has ended, or is queued if launches are held.
  // Throws if the kernel failed.
  void run(FunctionHandle function, const std::string& name, const launch::KernelLaunch& launch,
           std::vector<void*> parameters);
  // Blocks that fit on one SM at a time, at most `wanted`.
  [[nodiscard]] std::uint32_t resident_blocks(FunctionHandle function, const launch::KernelLaunch& launch,
                                              std::uint32_t wanted) const;

  // Throws NotSupportedError if the driver has no clusters.
  void require_clusters() const;
  // Also allows the kernel cluster sizes that are not portable. Throws NotSupportedError if there is no room for a
  // cluster of this launch's size.
  [[nodiscard]] ClusterRoom cluster_room(FunctionHandle function, const launch::KernelLaunch& launch) const;

  void upload(DevicePointer to, const void* from, std::uint64_t bytes) const override;
  void download(void* to, DevicePointer from, std::uint64_t bytes) const override;
  void clear(DevicePointer address, std::uint64_t bytes) const override;
  void expect_download(DevicePointer from, std::uint64_t bytes) override { expected_ = {from, bytes}; }
  void hold_launches(bool held) override { holds_ = held; }
  void finish_launches() override {
    if (!queued_.empty()) finish();
  }

  // Sets the bank layout for launches of the kernel (AccessProgram::bank_mode_bytes). Throws NotSupportedError if the
  // GPU has no choice, unless `bytes` is 0.
  void set_bank_mode(FunctionHandle function, std::uint32_t bytes) const;

  void begin_metering() override;
  // Empty for a MIG instance: no interface reports the energy of a part of a GPU.
  [[nodiscard]] std::optional<double> energy_joules() const override {
    return info_.instance == GpuInstance{} ? read_energy_joules(info_.pci_address) : std::nullopt;
  }
  [[nodiscard]] double kernel_seconds() const override { return timer_ ? timer_->seconds() : 0; }

  // See Device::warnings().
  [[nodiscard]] std::vector<std::string> warnings() const;
  [[nodiscard]] DeviceHealth health() const;

 private:
  void allocate_arena(std::uint64_t bytes, std::uint64_t& alignment);
  void set_carve_out(FunctionHandle function, const launch::KernelLaunch& launch) const;
  void set_attribute(FunctionHandle function, FunctionAttribute attribute, int value, const char* name) const;
  [[nodiscard]] Status start(FunctionHandle function, const launch::KernelLaunch& launch, void** parameters) const;
  // run() in two parts. After several kernels in a row, only the end of the last needs a wait.
  void queue(FunctionHandle function, const std::string& name, const launch::KernelLaunch& launch,
             std::vector<void*> parameters);
  void finish();
  [[nodiscard]] std::optional<std::uint64_t> throttle_reasons() const;

  std::shared_ptr<const Driver> driver_;
  DeviceInfo info_;
  PtxTarget target_;
  std::uint64_t max_linear_texels_ = 0;
  std::optional<std::uint64_t> throttle_reasons_;  // read before the GPU was heated up; not set: it was not
  std::string busy_warning_;
  std::shared_ptr<Context> context_;  // declared before everything that lives in it
  std::optional<CompileAhead> compiler_;
  std::optional<KernelTimer> timer_;
  // Device memory, as much as was ever needed.
  Memory arena_;
  std::uint64_t reserved_bytes_ = 0;  // of the arena, in the last call of reserve()
  Memory spin_record_;                // separate, because a spin may stand between a program's launches
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
  Part expected_;                                    // arrives with the next launch that is waited for
  mutable Part fetched_;                             // the part in pinned memory, while it still equals device memory
  bool holds_ = false;                               // run() does not wait for its launches
  std::vector<std::string> queued_;                  // kernels that nobody has waited for, each name once
  std::chrono::steady_clock::time_point queued_at_;  // time of the last one; of the first one in a held row
};

}  // namespace gputopo::cuda
