// Times kernels on the GPU by driver events before and after each.
#pragma once

#include <memory>
#include <vector>

#include "device/cuda/driver_api.h"

namespace gputopo::cuda {

// Does nothing if times are not kept (time_driver_calls) or the driver has no events. Failing calls only lose times.
class KernelTimer {
 public:
  explicit KernelTimer(std::shared_ptr<const Driver> driver);
  KernelTimer(const KernelTimer&) = delete;
  KernelTimer& operator=(const KernelTimer&) = delete;
  ~KernelTimer();

  // Called before and after a launch, in its stream.
  void begin(StreamHandle stream);
  void end(StreamHandle stream);
  // Called once all launches have ended.
  void collect();
  [[nodiscard]] double seconds() const { return seconds_; }

 private:
  void record(StreamHandle stream);

  std::shared_ptr<const Driver> driver_;
  bool works_ = false;
  std::vector<EventHandle> events_;
  std::size_t recorded_ = 0;  // events in use, two for each launch
  double seconds_ = 0;
};

}  // namespace gputopo::cuda
