// One opened AMD GPU.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "device/driver/sysfs.h"
#include "device/hip/cu_masks.h"
#include "device/hip/device_wait.h"
#include "device/hip/gfx_target.h"
#include "device/hip/kfd_topology.h"
#include "device/hip/runtime_api.h"
#include "device/launch/chase_gpu.h"

namespace gputopo::hip {

class Gpu : public launch::ChaseGpu {
 public:
  explicit Gpu(int ordinal);

  [[nodiscard]] const DeviceInfo& info() const override { return info_; }
  [[nodiscard]] const std::shared_ptr<const Runtime>& runtime() const { return runtime_; }
  [[nodiscard]] const GfxTarget& target() const { return target_; }

  [[nodiscard]] launch::Address reserve(std::uint64_t bytes) override;
  void upload(launch::Address to, const void* from, std::uint64_t bytes) const override;
  void download(void* to, launch::Address from, std::uint64_t bytes) const override;
  void clear(launch::Address address, std::uint64_t bytes) const override;
  [[nodiscard]] std::uint64_t carve_out_for(std::uint64_t wanted_bytes, std::uint64_t shared_bytes,
                                            std::uint32_t blocks) const override;
  [[nodiscard]] std::uint64_t shared_bytes_for_one_block(std::uint64_t carve_out_bytes,
                                                         std::uint64_t shared_bytes) const override;
  void launch_fill(launch::Address tasks, std::uint32_t arrays, std::uint64_t most_elements) override;
  void launch_chase(const launch::ChaseLaunch& launch) override;
  void check(const ChaseProgram& program) const override;
  [[nodiscard]] std::uint32_t blocks_to_reach_every_sm() const override;
  [[nodiscard]] std::uint64_t shared_bytes_to_reach_every_sm(std::uint64_t carve_out_bytes,
                                                             std::uint64_t shared_bytes) const override;
  // The blocks of a launch begin on eight dies, not all at once.
  [[nodiscard]] std::uint32_t patience_cycles() const override { return 400'000; }
  // CUs share scalar caches, whose contents are known only while no other program runs.
  [[nodiscard]] bool may_run_beside_others(const ChaseProgram& program) const override;
  [[nodiscard]] std::uint32_t hardware_id_of(std::uint32_t sm) const override;
  [[nodiscard]] std::uint32_t sm_of(std::uint32_t hardware_id) const override;
  [[nodiscard]] std::uint64_t nanoseconds(std::uint64_t ticks) const override;
  [[nodiscard]] launch::BlockRecord spin_all(std::uint64_t nanoseconds) override;

  // `parameters` point to the kernel's arguments. Returns once the kernel has ended; throws if it failed. A launch that
  // names SMs may run with fewer blocks, on those SMs only.
  void run(FunctionHandle function, const std::string& name, const launch::KernelLaunch& launch,
           std::vector<void*> parameters);
  // The number of launches that reached their CUs by a mask, and a way to stop that.
  [[nodiscard]] std::uint64_t masked_launches() const { return masked_launches_; }
  void stop_masking();
  // Blocks that fit on one CU at a time, at most `wanted`.
  [[nodiscard]] std::uint32_t resident_blocks(FunctionHandle function, const launch::KernelLaunch& launch,
                                              std::uint32_t wanted) const;
  // Lists what may have disturbed the measurements so far, one line each.
  [[nodiscard]] std::vector<std::string> warnings() const;
  [[nodiscard]] DeviceHealth health() const { return read_health(sysfs_root(), info_.pci_address); }

 private:
  void read_wall_clock();
  void read_physical_ids();
  // The CUs that ran blocks of a stream. They should be `cus`.
  [[nodiscard]] std::set<std::uint32_t> roll_call(StreamHandle stream, std::uint32_t cus, std::uint32_t blocks);
  void start(FunctionHandle function, const std::string& name, const launch::KernelLaunch& launch,
             std::vector<void*>& parameters, StreamHandle stream);
  [[nodiscard]] std::vector<launch::BlockRecord> spin(std::uint32_t blocks, std::uint64_t shared_bytes,
                                                      std::uint64_t nanoseconds_each, StreamHandle stream = nullptr);
  [[nodiscard]] const Module& chase_module();  // compiled at the first call

  std::shared_ptr<const Runtime> runtime_;
  int ordinal_;
  DeviceInfo info_;
  GfxTarget target_;
  double wall_clock_khz_ = 0;
  DeviceWait wait_;
  Memory arena_;
  Memory spin_records_;  // separate: the arena holds the tasks of a launch whose stream is made first
  std::unique_ptr<Module> chase_module_;
  std::uint32_t cus_seen_ = 0;  // CUs that the roll call found
  std::optional<CuMasks> masks_;
  std::uint64_t masked_launches_ = 0;
  std::string busy_warning_;
  std::string wall_clock_warning_;  // not empty if its rate was measured
};

}  // namespace gputopo::hip
