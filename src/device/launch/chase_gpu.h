// What the runner of chase programs needs of a GPU: memory, and the kernels "fill" and "chase" of its vendor.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "device/launch/kernel_layout.h"
#include "gputopo/device.h"

namespace gputopo::launch {

using Address = std::uint64_t;  // in device memory

// A launch of the kernel "chase".
struct ChaseLaunch {
  Address tasks = 0;  // ChaseTasks
  std::uint32_t task_count = 1;
  bool by_block = true;  // block b runs task b; otherwise the first block on the SM that a task wants runs it
  std::uint32_t blocks = 1;
  std::uint32_t threads = 32;
  std::uint64_t shared_bytes = 0;     // dynamic
  std::uint64_t carve_out_bytes = 0;  // ignored where carve-outs are fixed
};

// A texture over device memory, for as long as `owner` lives.
struct TextureView {
  std::uint64_t handle = 0;
  std::shared_ptr<void> owner;
};

class ChaseGpu {
 public:
  ChaseGpu() = default;
  ChaseGpu(const ChaseGpu&) = delete;
  ChaseGpu& operator=(const ChaseGpu&) = delete;
  virtual ~ChaseGpu() = default;

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

  // Return once the kernel has ended; throw when it failed. `arrays` FillTasks lie at `tasks`.
  virtual void launch_fill(Address tasks, std::uint32_t arrays, std::uint64_t most_elements) = 0;
  virtual void launch_chase(const ChaseLaunch& launch) = 0;

  // What not every vendor has; the programs that need it are refused before it is called.
  [[nodiscard]] virtual TextureView make_texture(Address address, std::uint64_t bytes);
  virtual void set_constants(Address image);  // kConstantBankBytes

  // Throws NotSupportedError for a program that this GPU's kernels cannot run.
  virtual void check(const ChaseProgram& program) const = 0;
  // Whether programs on other SMs may run at the same time, though the program is not exclusive.
  [[nodiscard]] virtual bool may_run_beside_others(const ChaseProgram&) const { return true; }
  // How long a block on an SM that is not wanted stays, so that the launch puts a block on every SM.
  [[nodiscard]] virtual std::uint32_t patience_cycles() const = 0;
  // Between the number of an SM and what the kernels call it. Throws NotSupportedError for an SM that is not there.
  [[nodiscard]] virtual std::uint32_t hardware_id_of(std::uint32_t sm) const { return sm; }
  [[nodiscard]] virtual std::uint32_t sm_of(std::uint32_t hardware_id) const { return hardware_id; }

  // The SM clock by a block's own clocks if it ran long enough to tell, else the last one known.
  [[nodiscard]] virtual double clock_mhz(const BlockRecord& record) = 0;
};

}  // namespace gputopo::launch
