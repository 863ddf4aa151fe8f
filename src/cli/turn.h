// Two gputopo on one GPU take turns.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "cli/options.h"
#include "cli/standard_streams.h"
#include "gputopo/device_lock.h"

namespace gputopo::cli {

struct Turn {
  // Others wait for who has a turn, so nothing that somebody else reads is waited for meanwhile.
  std::unique_ptr<HeldBackErrors> held_back;
  std::unique_ptr<DeviceLock> lock;  // null: there is none to be had, or it was not waited for to the end
  ExitCode code = kExitComplete;     // of a wait that ended without

  // Lets others measure.
  void end() {
    lock.reset();
    held_back.reset();
  }
};

// Two that measure one GPU measure one another. Before it is opened, for a context is work for the GPU, too. At once
// where the address is empty. Another that has the GPU is waited for, but no longer than that: anybody may take the
// lock and keep it.
[[nodiscard]] Turn take_turn(const std::string& pci_address, double max_wait_seconds,
                             const std::atomic<bool>& interrupted);

}  // namespace gputopo::cli
