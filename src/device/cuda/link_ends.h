// What a node's links have on each GPU and in each memory of the host.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "device/cuda/driver_api.h"
#include "device/cuda/ptx.h"
#include "device/cuda/transfer_queue.h"
#include "device/node/host_memory.h"
#include "file/limits.h"

namespace gputopo::cuda {

// What kernels leave: a word for each block.
inline constexpr std::uint64_t kRecordBytes = 64ull << 10;

struct GpuEnd {
  GpuEnd(const std::shared_ptr<const Driver>& driver, DeviceHandle handle)
      : owner(driver),
        context(driver, handle),
        target(target_of(*driver, handle)),
        sms(std::clamp(attribute_of(*driver, handle, DeviceAttribute::kSmCount), 1u, limits::kMaxSms)),
        has_host_atomics(attribute_of(*driver, handle, DeviceAttribute::kHostNativeAtomicSupported) != 0),
        module(driver, generate_transfer_ptx(target)),
        records(driver, kRecordBytes) {}

  GpuEnd(const GpuEnd&) = delete;
  GpuEnd& operator=(const GpuEnd&) = delete;
  // The context of another may be gone by now.
  ~GpuEnd() { owner->ctx_set_current(context.handle()); }

  static std::uint32_t attribute_of(const Driver& driver, DeviceHandle handle, DeviceAttribute attribute) {
    int value = 0;
    driver.check(driver.device_get_attribute(&value, attribute, handle), "cuDeviceGetAttribute");
    return static_cast<std::uint32_t>(std::max(value, 0));
  }
  static PtxTarget target_of(const Driver& driver, DeviceHandle handle) {
    return choose_ptx_target(static_cast<int>(attribute_of(driver, handle, DeviceAttribute::kComputeCapabilityMajor)),
                             static_cast<int>(attribute_of(driver, handle, DeviceAttribute::kComputeCapabilityMinor)),
                             driver.version());
  }

  std::shared_ptr<const Driver> owner;
  Context context;  // before all that lives in it
  PtxTarget target;
  std::uint32_t sms;
  bool has_host_atomics;  // the link to the host carries them
  Module module;
  Memory records;
  std::deque<Queue> queues;
  Memory memory;
};

struct HostEnd {
  std::optional<LockedMemory> locked;
  node::HostMemory pageable;
};

}  // namespace gputopo::cuda
