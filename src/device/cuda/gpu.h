// One opened GPU: what the runners of chase and stream programs share.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/cuda/driver_api.h"
#include "device/cuda/kernel_layout.h"
#include "device/cuda/ptx.h"
#include "gputopo/device.h"

namespace gputopo::cuda {

// How a kernel is launched. Always a one-dimensional block.
struct Launch {
  std::uint32_t blocks = 1;
  std::uint32_t blocks_y = 1;
  std::uint32_t threads = 32;
  std::uint64_t shared_bytes = 0;     // dynamic
  std::uint64_t carve_out_bytes = 0;  // ignored where carve-outs are fixed
};

class Gpu {
 public:
  explicit Gpu(int ordinal);

  [[nodiscard]] const DeviceInfo& info() const { return info_; }
  [[nodiscard]] const std::shared_ptr<const Driver>& driver() const { return driver_; }
  [[nodiscard]] const PtxTarget& target() const { return target_; }
  [[nodiscard]] std::uint64_t max_linear_texels() const { return max_linear_texels_; }
  [[nodiscard]] const Module& chase_module();  // compiled at the first call

  // A 2 MiB aligned address with at least `bytes` behind it, for one launch at a time: the same memory is handed out
  // again.
  [[nodiscard]] DevicePointer reserve(std::uint64_t bytes);

  // The smallest carve-out that holds what is wanted and what `blocks` blocks of `shared_bytes` need; 0 where it is
  // fixed. Throws NotSupportedError when a block or the SM cannot hold them.
  [[nodiscard]] std::uint64_t carve_out_for(std::uint64_t wanted_bytes, std::uint64_t shared_bytes,
                                            std::uint32_t blocks) const;
  // Shared memory with which no second block fits beside one in this carve-out, at least `shared_bytes`.
  [[nodiscard]] std::uint64_t shared_bytes_for_one_block(std::uint64_t carve_out_bytes,
                                                         std::uint64_t shared_bytes) const;

  // `parameters` point at the kernel's arguments. Returns once the kernel has ended; throws when it failed.
  void run(FunctionHandle function, const std::string& name, const Launch& launch, std::vector<void*> parameters);
  // Blocks that fit on one SM at a time, at most `wanted`.
  [[nodiscard]] std::uint32_t resident_blocks(FunctionHandle function, const Launch& launch,
                                              std::uint32_t wanted) const;

  void upload(DevicePointer to, const void* from, std::uint64_t bytes) const;
  void download(void* to, DevicePointer from, std::uint64_t bytes) const;
  void clear(DevicePointer address, std::uint64_t bytes) const;

  // Brings the clocks up if the GPU has not worked for a while.
  void wake();
  // The SM clock by a block's own clocks if it ran long enough to tell, else the last one known.
  double clock_mhz(const BlockRecord& record);

 private:
  void read_info(DeviceHandle device);
  [[nodiscard]] std::optional<std::uint64_t> attribute(DeviceHandle device, DeviceAttribute attribute) const;
  void set_carve_out(FunctionHandle function, const Launch& launch) const;
  [[nodiscard]] BlockRecord spin(std::uint64_t nanoseconds);

  std::shared_ptr<const Driver> driver_;
  DeviceInfo info_;
  PtxTarget target_;
  std::uint64_t max_linear_texels_ = 0;
  std::unique_ptr<Context> context_;  // before all that lives in it
  Memory arena_;
  std::unique_ptr<Module> chase_module_;
  double last_clock_mhz_ = 0;
  std::optional<std::chrono::steady_clock::time_point> last_work_;
};

}  // namespace gputopo::cuda
