// What transfers are queued in, and host memory that every GPU reaches.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "device/cuda/driver_api.h"
#include "device/node/host_memory.h"

namespace gputopo::cuda {

// A stream, and the events around what is queued in it.
class Queue {
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
  ~Queue() {
    for (EventHandle event : {begin_, end_}) {
      if (event != nullptr) driver_->event_destroy(event);
    }
    if (stream_ != nullptr) driver_->stream_destroy(stream_);
  }
  [[nodiscard]] StreamHandle stream() const { return stream_; }
  void begin() const { driver_->check(driver_->event_record(begin_, stream_), "cuEventRecord"); }
  void end() const { driver_->check(driver_->event_record(end_, stream_), "cuEventRecord"); }
  // Waits for it.
  [[nodiscard]] double seconds(const std::string& what) const {
    driver_->check(driver_->stream_synchronize(stream_), what);
    return elapsed_seconds(begin_, end_);
  }
  // Of two queues of one GPU that both have ended: how long this one began after the other; negative if before.
  [[nodiscard]] double began_after(const Queue& other) const { return elapsed_seconds(other.begin_, begin_); }

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

// Host memory that the GPUs reach.
class LockedMemory {
 public:
  LockedMemory(std::shared_ptr<const Driver> driver, std::uint64_t bytes, std::optional<std::uint32_t> numa_node)
      : driver_(std::move(driver)), memory_(bytes, numa_node) {
    constexpr unsigned kForAllGpus = 1 | 2;  // CU_MEMHOSTREGISTER_PORTABLE, _DEVICEMAP
    driver_->check(driver_->mem_host_register(memory_.data(), bytes, kForAllGpus),
                   fmt::format("cuMemHostRegister({})", bytes));
    is_registered_ = true;
    driver_->check(driver_->mem_host_get_device_pointer(&address_, memory_.data(), 0), "cuMemHostGetDevicePointer");
    require_result(address_, "cuMemHostGetDevicePointer");
  }
  LockedMemory(const LockedMemory&) = delete;
  LockedMemory& operator=(const LockedMemory&) = delete;
  ~LockedMemory() {
    if (is_registered_) driver_->mem_host_unregister(memory_.data());
  }
  [[nodiscard]] std::byte* data() const { return memory_.data(); }
  [[nodiscard]] DevicePointer address() const { return address_; }
  [[nodiscard]] std::uint64_t bytes() const { return memory_.bytes(); }

 private:
  std::shared_ptr<const Driver> driver_;
  node::HostMemory memory_;
  DevicePointer address_ = 0;
  bool is_registered_ = false;
};

}  // namespace gputopo::cuda
