// gputopo processes on one GPU take turns.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "cli/options.h"
#include "cli/standard_streams.h"
#include "gputopo/device_lock.h"

namespace gputopo::cli {

struct Turn {
  // Others wait for the holder of a turn, so it must not wait for readers of its messages.
  std::unique_ptr<DeferredStderr> held_back;
  std::unique_ptr<DeviceLock> lock;  // null: locking is impossible, or the wait ended without the lock
  ExitCode code = kExitComplete;     // why a wait ended without the lock

  // Lets others measure.
  void end() {
    lock.reset();
    held_back.reset();
  }
};

// Takes the lock of a GPU, because simultaneous measurements disturb one another. Call it before opening the device: a
// context is work for the GPU too. Returns at once for an empty address. Waits at most `max_wait_seconds`, because
// anybody may take the lock and keep it.
[[nodiscard]] Turn take_turn(const std::string& pci_address, double max_wait_seconds,
                             const std::atomic<bool>& interrupted);

}  // namespace gputopo::cli
