// What calling vendors' drivers from somebody else's process needs: no fork in between, one at a time on a GPU, and
// none behind a call that never came back.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "gputopo/device_lock.h"
#include "library/apart.h"

namespace gputopo::library {

// Whether open_device(spec) may open a driver: not for simulated devices and recordings.
[[nodiscard]] bool needs_driver(const std::string& spec);

// GPUTOPO_OK, and from now on this process has used the drivers; or the status to return, with its text set.
[[nodiscard]] int begin_driver_use();

// After this begin_driver_use() refuses.
void remember_stuck_driver();

// A turn on a GPU, which ends with it.
class DeviceTurn {
 public:
  DeviceTurn() = default;
  DeviceTurn(const DeviceTurn&) = delete;
  DeviceTurn& operator=(const DeviceTurn&) = delete;
  virtual ~DeviceTurn() = default;
};

// Thrown where another has the GPU, and is not to be waited for.
class BusyError : public Error {
 public:
  using Error::Error;
};

// Of the GPU that open_device(spec) would open; null where that is none. Waits so long at most for other processes and
// for other threads of this one. Throws BusyError and EndedError.
[[nodiscard]] std::unique_ptr<DeviceTurn> take_turn(const std::string& spec, double max_wait_seconds, Apart& apart);

}  // namespace gputopo::library
