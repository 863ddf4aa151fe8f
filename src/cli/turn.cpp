#include "cli/turn.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>

namespace gputopo::cli {

Turn take_turn(const std::string& pci_address, double max_wait_seconds, const std::atomic<bool>& interrupted) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kPause{50};
  if (pci_address.empty()) return {};
  const Clock::time_point begin = Clock::now();
  for (bool is_first = true;; is_first = false) {
    DeviceLockAttempt attempt = try_lock_device(pci_address);
    if (!attempt.problem.empty()) say(fmt::format("gputopo: warning: {}", attempt.problem));
    if (!attempt.taken_by_another()) {
      return {.held_back = std::make_unique<DeferredStderr>(), .lock = std::move(attempt.lock)};
    }
    if (std::chrono::duration<double>(Clock::now() - begin).count() >= max_wait_seconds) {
      const std::string waited = max_wait_seconds > 0 ? fmt::format("waited {:g} s, but ", max_wait_seconds) : "";
      say(
          fmt::format("gputopo: error: {}the GPU at {} is locked by {}; end that process, or wait for it with "
                      "--max-wait SECONDS",
                      waited, pci_address, device_lock_holder(pci_address)));
      return {.code = kExitBusy};
    }
    if (is_first) {
      say(fmt::format("gputopo: waiting up to {:g} s for the GPU at {}, which is locked by {}", max_wait_seconds,
                      pci_address, device_lock_holder(pci_address)));
    }
    std::this_thread::sleep_for(kPause);
    if (interrupted) return {.code = kExitInterrupted};
  }
}

}  // namespace gputopo::cli
