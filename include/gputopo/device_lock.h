// One gputopo at a time on a GPU: a lock that processes of any user share.
#pragma once

#include <memory>
#include <string>

namespace gputopo {

// Held until it is destroyed, or the process ends, however it does.
class DeviceLock {
 public:
  DeviceLock() = default;
  DeviceLock(const DeviceLock&) = delete;
  DeviceLock& operator=(const DeviceLock&) = delete;
  virtual ~DeviceLock() = default;
};

struct DeviceLockAttempt {
  std::unique_ptr<DeviceLock> lock;  // null: another process has it, or none could be made
  std::string problem;               // why none could be made, one line; nothing keeps others away then
  [[nodiscard]] bool taken_by_another() const { return lock == nullptr && problem.empty(); }
};

// Tries once, without waiting. `pci_address`: of the GPU. The lock is a file of that name in the first of /run/lock,
// /dev/shm and /tmp where every user may have files and none may take away another's; in GPUTOPO_LOCK_DIR, where that
// is set (a folder that containers share, say). The file stays. It is never followed where it is a link, and what is
// not a plain file of one name is not used. Never throws.
[[nodiscard]] DeviceLockAttempt try_lock_device(const std::string& pci_address);

// Who holds the lock that try_lock_device() has just found taken, for a message: "python3 (process 4242 of user 1001)",
// or "another gputopo" where the system does not tell, as it does not across containers. The name is the process's own
// choice. Never throws.
[[nodiscard]] std::string device_lock_holder(const std::string& pci_address);

// Of the GPU that open_device(spec) would open; empty for what is no GPU (simulated devices, recordings) and where no
// address is known.
[[nodiscard]] std::string pci_address_of(const std::string& spec);

}  // namespace gputopo
