// Two gputopo on one GPU take turns.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "cli/options.h"
#include "gputopo/device_lock.h"

namespace gputopo::cli {

struct Turn {
  std::unique_ptr<DeviceLock> lock;  // null: there is none to be had, or it was not waited for to the end
  ExitCode code = kExitComplete;     // of a wait that ended without
};

// Two that measure one GPU measure one another. Before it is opened, for a context is work for the GPU, too. At once
// where the address is empty.
[[nodiscard]] Turn take_turn(const std::string& pci_address, bool no_wait, const std::atomic<bool>& interrupted);

}  // namespace gputopo::cli
