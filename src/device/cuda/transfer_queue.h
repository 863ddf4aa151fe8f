// The queues of transfers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "device/cuda/driver_api.h"
#include "device/node/link_driver.h"

namespace gputopo::cuda {

class HostGate : public node::LinkGate {
 public:
  explicit HostGate(std::shared_ptr<const Driver> driver) : memory_(std::move(driver), sizeof(std::uint32_t)) {
    if (has_word()) *word() = 0;
  }
  // Drivers that provide no such memory cannot hold queues back.
  [[nodiscard]] bool has_word() const { return memory_.bytes() > 0; }
  [[nodiscard]] std::uint32_t* word() const override { return reinterpret_cast<std::uint32_t*>(memory_.data()); }

 private:
  PinnedMemory memory_;
};

// A stream, and the events around the work queued in it.
class Queue : public node::LinkQueue {
 public:
  explicit Queue(std::shared_ptr<const Driver> driver) : driver_(std::move(driver)) {
    constexpr unsigned kNonBlocking = 1;  // CU_STREAM_NON_BLOCKING
    driver_->check(driver_->stream_create(&stream_, kNonBlocking), "cuStreamCreate");
    require_result(stream_, "cuStreamCreate");
    for (EventHandle* event : {&begin_, &end_}) {
      driver_->check(driver_->event_create(event, 0), "cuEventCreate");
      require_result(*event, "cuEventCreate");
    }
  }
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  ~Queue() override {
    for (EventHandle event : {begin_, end_}) {
      if (event != nullptr) driver_->event_destroy(event);
    }
    if (stream_ != nullptr) driver_->stream_destroy(stream_);
  }
  [[nodiscard]] StreamHandle stream() const { return stream_; }
  [[nodiscard]] bool hold(const node::LinkGate& gate, std::uint32_t ticket) override {
    constexpr unsigned kAtLeast = 0;  // CU_STREAM_WAIT_VALUE_GEQ
    if (driver_->stream_wait_value == nullptr) return false;
    const auto address = reinterpret_cast<DevicePointer>(gate.word());
    return driver_->stream_wait_value(stream_, address, ticket, kAtLeast) == kSuccess;
  }
  void begin() override { driver_->check(driver_->event_record(begin_, stream_), "cuEventRecord"); }
  void end() override { driver_->check(driver_->event_record(end_, stream_), "cuEventRecord"); }
  [[nodiscard]] double seconds(const std::string& what) override {
    driver_->check(driver_->stream_synchronize(stream_), what);
    return elapsed_seconds(begin_, end_);
  }
  [[nodiscard]] double began_after(const node::LinkQueue& other) const override {
    return elapsed_seconds(static_cast<const Queue&>(other).begin_, begin_);
  }

 private:
  [[nodiscard]] double elapsed_seconds(EventHandle from, EventHandle to) const {
    constexpr double kMilli = 1e-3;
    float milliseconds = 0;
    driver_->check(driver_->event_elapsed_time(&milliseconds, from, to), "cuEventElapsedTime");
    return milliseconds * kMilli;
  }

  std::shared_ptr<const Driver> driver_;
  StreamHandle stream_ = nullptr;
  EventHandle begin_ = nullptr;
  EventHandle end_ = nullptr;
};

}  // namespace gputopo::cuda
