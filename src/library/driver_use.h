// Rules for drivers in a foreign process: no fork in between, one discovery per GPU, and no call after one that hung.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "gputopo/device_lock.h"
#include "library/worker_thread.h"

namespace gputopo::library {

// Whether open_device(spec) may open a driver. Simulated devices and recordings need none.
[[nodiscard]] bool needs_driver(const std::string& spec);

// Records that this process uses the drivers, and returns GPUTOPO_OK; or returns an error status, with its text set.
[[nodiscard]] int begin_driver_use();

// Makes begin_driver_use() fail from now on.
void remember_stuck_driver();

// A turn on a GPU. It ends with this object.
class DeviceTurn {
 public:
  DeviceTurn() = default;
  DeviceTurn(const DeviceTurn&) = delete;
  DeviceTurn& operator=(const DeviceTurn&) = delete;
  virtual ~DeviceTurn() = default;
};

// Thrown if another discovery has the GPU and the wait is over.
class BusyError : public Error {
 public:
  using Error::Error;
};

// Takes a turn on the GPU that open_device(spec) would open; null if that is no GPU. Waits at most this long for other
// processes and other threads. Throws BusyError and EndedError.
[[nodiscard]] std::unique_ptr<DeviceTurn> take_turn(const std::string& spec, double max_wait_seconds,
                                                    WorkerState& apart);

}  // namespace gputopo::library
