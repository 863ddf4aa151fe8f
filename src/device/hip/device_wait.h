// Waiting for the GPU, with an end when it has faulted.
// For a memory fault or a reset of the GPU ROCm's runtime ends the process (abort), unless a handler of its system
// events takes the event; and then what waits for the GPU waits for ever. So the wait is a thread's of its own, and who
// asked for it is told by the handler: DeviceLostError, and what was measured is kept. From then on the runtime is left
// alone, for any call may wait like that.
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

  // hipDeviceSynchronize. Throws DeviceLostError when a GPU of this process faults.
  [[nodiscard]] Status operator()();

 private:
  struct Job;
  std::shared_ptr<const Runtime> runtime_;
  std::shared_ptr<Job> job_;  // null where the runtime tells of no faults
};

// Whether a GPU of this process has faulted, and the runtime must not be called any more.
[[nodiscard]] bool has_faulted();
// Throws DeviceLostError if one has.
void check_for_fault();

}  // namespace gputopo::hip
