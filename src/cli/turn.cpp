#include "cli/turn.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "cli/standard_streams.h"

namespace gputopo::cli {

Turn take_turn(const std::string& pci_address, bool no_wait, const std::atomic<bool>& interrupted) {
  constexpr std::chrono::milliseconds kPause{50};
  if (pci_address.empty()) return {};
  for (bool is_first = true;; is_first = false) {
    DeviceLockAttempt attempt = try_lock_device(pci_address);
    if (!attempt.problem.empty()) say(fmt::format("gputopo: warning: {}", attempt.problem));
    if (!attempt.taken_by_another()) return {.lock = std::move(attempt.lock)};
    if (no_wait) {
      say(fmt::format("gputopo: error: another gputopo measures the GPU at {}; without --no-wait this one waits",
                      pci_address));
      return {.code = kExitBusy};
    }
    if (is_first) say(fmt::format("gputopo: waiting for another gputopo that measures the GPU at {}", pci_address));
    std::this_thread::sleep_for(kPause);
    if (interrupted) return {.code = kExitInterrupted};
  }
}

}  // namespace gputopo::cli
