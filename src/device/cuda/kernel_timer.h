// How long kernels run on the GPU, by the driver's events before and behind each.
#pragma once

#include <memory>
#include <vector>

#include "device/cuda/driver_api.h"

namespace gputopo::cuda {

// Does nothing where times are not kept (time_driver_calls) or the driver has no events; a call that fails costs a time
// and no more.
class KernelTimer {
 public:
  explicit KernelTimer(std::shared_ptr<const Driver> driver);
  KernelTimer(const KernelTimer&) = delete;
  KernelTimer& operator=(const KernelTimer&) = delete;
  ~KernelTimer();

  // Before and behind a launch, in its stream.
  void begin(StreamHandle stream);
  void end(StreamHandle stream);
  // All launches have ended.
  void collect();
  [[nodiscard]] double seconds() const { return seconds_; }

 private:
  void record(StreamHandle stream);

  std::shared_ptr<const Driver> driver_;
  bool works_ = false;
  std::vector<EventHandle> events_;
  std::size_t recorded_ = 0;  // of them, two of each launch
  double seconds_ = 0;
};

}  // namespace gputopo::cuda
