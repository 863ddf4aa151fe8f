#include "library/driver_use.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>

#include "gputopo/error.h"
#include "library/status.h"

namespace gputopo::library {
namespace {

std::atomic<pid_t> g_user_of_drivers = 0;
std::atomic<bool> g_is_stuck = false;

// GPUs that threads of this process have a turn on. They are recorded here because the file lock cannot always be had.
struct Turns {
  std::mutex mutex;
  std::set<std::string> pci_addresses;
};

// Never destroyed, because threads may outlive the end of main.
Turns& turns() {
  static Turns& instance = *new Turns;
  return instance;
}

class OwnTurn : public DeviceTurn {
 public:
  explicit OwnTurn(std::string pci_address) : pci_address_(std::move(pci_address)) {}
  ~OwnTurn() override {
    lock_ = nullptr;
    const std::lock_guard lock(turns().mutex);
    turns().pci_addresses.erase(pci_address_);
  }
  void keep(std::unique_ptr<DeviceLock> lock) { lock_ = std::move(lock); }

 private:
  std::string pci_address_;
  std::unique_ptr<DeviceLock> lock_;
};

std::unique_ptr<OwnTurn> try_own_turn(const std::string& pci_address) {
  const std::lock_guard lock(turns().mutex);
  if (!turns().pci_addresses.insert(pci_address).second) return nullptr;
  return std::make_unique<OwnTurn>(pci_address);
}

// Null if another process or thread has the turn.
std::unique_ptr<DeviceTurn> try_turn(const std::string& pci_address, WorkerState& apart) {
  std::unique_ptr<OwnTurn> turn = try_own_turn(pci_address);
  if (turn == nullptr) return nullptr;
  DeviceLockAttempt attempt = try_lock_device(pci_address);
  if (attempt.taken_by_another()) return nullptr;
  if (!attempt.problem.empty()) apart.post(LogLine{GPUTOPO_LOG_WARNING, attempt.problem});
  turn->keep(std::move(attempt.lock));
  return turn;
}

}  // namespace

bool needs_driver(const std::string& spec) { return !spec.starts_with("sim:") && !spec.starts_with("replay:"); }

int begin_driver_use() {
  if (g_is_stuck) {
    return fail(GPUTOPO_ERROR_DEVICE_LOST, "a driver call in this process never returned: start a new process");
  }
  const pid_t own = getpid();
  pid_t user = 0;
  if (g_user_of_drivers.compare_exchange_strong(user, own) || user == own) return GPUTOPO_OK;
  return fail(
      GPUTOPO_ERROR_FORKED,
      "this process was forked from a process that has used the GPU's driver, and the driver does not survive a fork: "
      "discover before the fork and pass the report to the child, or start a new program (multiprocessing: spawn)");
}

void remember_stuck_driver() { g_is_stuck = true; }

std::unique_ptr<DeviceTurn> take_turn(const std::string& spec, double max_wait_seconds, WorkerState& apart) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kPause{50};
  const std::string pci_address = pci_address_of(spec);
  apart.expect_no_driver();
  if (pci_address.empty()) return nullptr;
  const Clock::time_point begin = Clock::now();
  for (bool is_first = true;; is_first = false) {
    if (std::unique_ptr<DeviceTurn> turn = try_turn(pci_address, apart)) return turn;
    if (std::chrono::duration<double>(Clock::now() - begin).count() >= max_wait_seconds) {
      throw BusyError(fmt::format(
          "another discovery is measuring the GPU at {}: its lock is held by {}; end that discovery, or wait "
          "for it (options.wait, options.max_wait_seconds)",
          pci_address, device_lock_holder(pci_address)));
    }
    if (is_first) {
      apart.post(
          LogLine{GPUTOPO_LOG_WARNING, fmt::format("waiting for another discovery of the GPU at {}", pci_address)});
    }
    std::this_thread::sleep_for(kPause);
    apart.throw_if_cancelled();
  }
}

}  // namespace gputopo::library
