// Waits for the GPU, and ends the wait if the GPU has faulted.
// After a memory fault or a reset of the GPU, ROCm's runtime ends the process (abort), unless a handler of its system
// events takes the event. Then, however, every wait for the GPU lasts forever. So a separate thread waits, and the
// handler tells the caller: DeviceLostError is thrown, and what was measured is kept. From then on the runtime is left
// alone, because any call may wait like that.
#pragma once

#include <memory>

#include "device/hip/runtime_api.h"

namespace gputopo::hip {

class DeviceWait {
 public:
  DeviceWait(std::shared_ptr<const Runtime> runtime, int ordinal);
  DeviceWait(const DeviceWait&) = delete;
  DeviceWait& operator=(const DeviceWait&) = delete;
  ~DeviceWait();

  // hipDeviceSynchronize. Throws DeviceLostError if a GPU of this process faults.
  [[nodiscard]] Status operator()();

 private:
  struct Job;
  std::shared_ptr<const Runtime> runtime_;
  std::shared_ptr<Job> job_;  // null if the runtime reports no faults
};

// Whether a GPU of this process has faulted. Then the runtime must not be called any more.
[[nodiscard]] bool has_faulted();
// Throws DeviceLostError if has_faulted().
void check_for_fault();

}  // namespace gputopo::hip
