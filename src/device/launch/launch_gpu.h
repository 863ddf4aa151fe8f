// What the runners of programs need of a GPU of any vendor: its memory, its clocks and the names of its SMs.
#pragma once

#include <cstdint>

#include "device/launch/kernel_layout.h"
#include "gputopo/device.h"

namespace gputopo::launch {

using Address = std::uint64_t;  // in device memory

// A launch may be expected to last this long; longer programs are refused.
inline constexpr double kMostLaunchCycles = 1e9;

[[nodiscard]] constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

class LaunchGpu {
 public:
  LaunchGpu() = default;
  LaunchGpu(const LaunchGpu&) = delete;
  LaunchGpu& operator=(const LaunchGpu&) = delete;
  virtual ~LaunchGpu() = default;

  [[nodiscard]] virtual const DeviceInfo& info() const = 0;

  // An address with at least `bytes` behind it, aligned to large pages, for one launch at a time: the same memory is
  // handed out again.
  [[nodiscard]] virtual Address reserve(std::uint64_t bytes) = 0;
  virtual void upload(Address to, const void* from, std::uint64_t bytes) const = 0;
  virtual void download(void* to, Address from, std::uint64_t bytes) const = 0;
  virtual void clear(Address address, std::uint64_t bytes) const = 0;

  // The smallest carve-out that holds what is wanted and what `blocks` blocks of `shared_bytes` need; 0 where it is
  // fixed. Throws NotSupportedError when a block or the SM cannot hold them.
  [[nodiscard]] virtual std::uint64_t carve_out_for(std::uint64_t wanted_bytes, std::uint64_t shared_bytes,
                                                    std::uint32_t blocks) const = 0;
  // Shared memory with which no second block fits beside one in this carve-out, at least `shared_bytes`.
  [[nodiscard]] virtual std::uint64_t shared_bytes_for_one_block(std::uint64_t carve_out_bytes,
                                                                 std::uint64_t shared_bytes) const = 0;

  // For launches that must put a block on every SM: how many blocks, and shared memory of each, at least
  // `shared_bytes`. Where blocks go to whatever SM is free: as many as there are SMs, and no two on one.
  [[nodiscard]] virtual std::uint32_t blocks_to_reach_every_sm() const { return info().sm_count; }
  [[nodiscard]] virtual std::uint64_t shared_bytes_to_reach_every_sm(std::uint64_t carve_out_bytes,
                                                                     std::uint64_t shared_bytes) const {
    return shared_bytes_for_one_block(carve_out_bytes, shared_bytes);
  }
  // How long a block on an SM that is not wanted stays, so that the launch puts a block on every SM.
  [[nodiscard]] virtual std::uint32_t patience_cycles() const = 0;
  // Between the number of an SM and what the kernels call it. Throws NotSupportedError for an SM that is not there.
  [[nodiscard]] virtual std::uint32_t hardware_id_of(std::uint32_t sm) const { return sm; }
  [[nodiscard]] virtual std::uint32_t sm_of(std::uint32_t hardware_id) const { return hardware_id; }

  // The SM clock by a block's own clocks if it ran long enough to tell, else the last one known.
  [[nodiscard]] virtual double clock_mhz(const BlockRecord& record) = 0;
};

}  // namespace gputopo::launch
