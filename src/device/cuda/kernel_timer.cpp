#include "device/cuda/kernel_timer.h"

#include <cmath>
#include <utility>

namespace gputopo::cuda {

KernelTimer::KernelTimer(std::shared_ptr<const Driver> driver) : driver_(std::move(driver)) {
  works_ = driver_calls_are_timed() && driver_->event_create != nullptr && driver_->event_record != nullptr &&
           driver_->event_elapsed_time != nullptr && driver_->event_destroy != nullptr;
}

KernelTimer::~KernelTimer() {
  for (EventHandle event : events_) driver_->event_destroy(event);
}

void KernelTimer::record(StreamHandle stream) {
  if (!works_) return;
  if (recorded_ == events_.size()) {
    EventHandle event = nullptr;
    works_ = driver_->event_create(&event, 0) == kSuccess && event != nullptr;
    if (!works_) return;
    events_.push_back(event);
  }
  works_ = driver_->event_record(events_[recorded_++], stream) == kSuccess;
}

void KernelTimer::begin(StreamHandle stream) { record(stream); }

void KernelTimer::end(StreamHandle stream) { record(stream); }

void KernelTimer::collect() {
  for (std::size_t i = 0; i + 1 < recorded_; i += 2) {
    float milliseconds = 0;
    const Status status = driver_->event_elapsed_time(&milliseconds, events_[i], events_[i + 1]);
    if (status == kSuccess && std::isfinite(milliseconds) && milliseconds > 0) {
      seconds_ += 1e-3 * static_cast<double>(milliseconds);
    }
  }
  recorded_ = 0;
}

}  // namespace gputopo::cuda
