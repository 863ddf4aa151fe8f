// One opened GPU: what the runners of chase and stream programs share.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/cuda/driver_api.h"
#include "device/cuda/kernel_layout.h"
#include "device/cuda/nvml_api.h"
#include "device/cuda/ptx.h"
#include "device/launch/chase_gpu.h"
#include "gputopo/device.h"

namespace gputopo::cuda {

// How a kernel is launched. Always a one-dimensional block.
struct Launch {
  std::uint32_t blocks = 1;
  std::uint32_t blocks_y = 1;
  std::uint32_t threads = 32;
  std::uint64_t shared_bytes = 0;     // dynamic
  std::uint64_t carve_out_bytes = 0;  // ignored where carve-outs are fixed
  std::uint32_t cluster_size = 0;     // blocks, neighbours in x; 0: no clusters
};

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
  [[nodiscard]] std::uint64_t max_linear_texels() const { return max_linear_texels_; }
  [[nodiscard]] const Module& chase_module();  // compiled at the first call

  [[nodiscard]] DevicePointer reserve(std::uint64_t bytes) override;
  [[nodiscard]] std::uint64_t carve_out_for(std::uint64_t wanted_bytes, std::uint64_t shared_bytes,
                                            std::uint32_t blocks) const override;
  [[nodiscard]] std::uint64_t shared_bytes_for_one_block(std::uint64_t carve_out_bytes,
                                                         std::uint64_t shared_bytes) const override;
  void launch_fill(launch::Address tasks, std::uint32_t arrays, std::uint64_t most_elements) override;
  void launch_chase(const launch::ChaseLaunch& launch) override;
  [[nodiscard]] launch::TextureView make_texture(launch::Address address, std::uint64_t bytes) override;
  void set_constants(launch::Address image) override;
  void check(const ChaseProgram& program) const override;
  [[nodiscard]] std::uint32_t patience_cycles() const override { return 20'000; }

  // `parameters` point at the kernel's arguments. Returns once the kernel has ended; throws when it failed.
  void run(FunctionHandle function, const std::string& name, const Launch& launch, std::vector<void*> parameters);
  // Blocks that fit on one SM at a time, at most `wanted`.
  [[nodiscard]] std::uint32_t resident_blocks(FunctionHandle function, const Launch& launch,
                                              std::uint32_t wanted) const;

  // Throws NotSupportedError where the driver has no clusters.
  void require_clusters() const;
  // Also allows the kernel clusters of sizes that are not portable. Throws NotSupportedError where there is no room for
  // one of this launch's.
  [[nodiscard]] ClusterRoom cluster_room(FunctionHandle function, const Launch& launch) const;

  void upload(DevicePointer to, const void* from, std::uint64_t bytes) const override;
  void download(void* to, DevicePointer from, std::uint64_t bytes) const override;
  void clear(DevicePointer address, std::uint64_t bytes) const override;

  // Brings the clocks up if the GPU has not worked for a while.
  void wake();
  [[nodiscard]] double clock_mhz(const BlockRecord& record) override;
  // As Device::warnings().
  [[nodiscard]] std::vector<std::string> warnings() const;

 private:
  void read_info(DeviceHandle device, const NvmlReadings& nvml);
  [[nodiscard]] std::optional<std::uint64_t> attribute(DeviceHandle device, DeviceAttribute attribute) const;
  void set_carve_out(FunctionHandle function, const Launch& launch) const;
  [[nodiscard]] Status start(FunctionHandle function, const Launch& launch, void** parameters) const;
  [[nodiscard]] BlockRecord spin(std::uint64_t nanoseconds);

  std::shared_ptr<const Driver> driver_;
  DeviceInfo info_;
  PtxTarget target_;
  std::uint64_t max_linear_texels_ = 0;
  std::string busy_warning_;
  std::unique_ptr<Context> context_;  // before all that lives in it
  Memory arena_;
  std::unique_ptr<Module> chase_module_;
  double last_clock_mhz_ = 0;
  std::optional<std::chrono::steady_clock::time_point> last_work_;
};

}  // namespace gputopo::cuda
