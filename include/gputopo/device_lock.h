// A lock on a GPU that processes of all users share, so that only one gputopo measures the GPU at a time.
#pragma once

#include <memory>
#include <string>

namespace gputopo {

// The lock is held until this object is destroyed or the process ends in any way.
class DeviceLock {
 public:
  DeviceLock() = default;
  DeviceLock(const DeviceLock&) = delete;
  DeviceLock& operator=(const DeviceLock&) = delete;
  virtual ~DeviceLock() = default;
};

struct DeviceLockAttempt {
  std::unique_ptr<DeviceLock> lock;  // null: another process holds the lock, or locking failed
  std::string problem;               // one line: why locking failed; nothing excludes other processes then
  [[nodiscard]] bool taken_by_another() const { return lock == nullptr && problem.empty(); }
};

// Tries once without waiting. The lock is a file named after the GPU's PCI address. It lies in the first of /run/lock,
// /dev/shm and /tmp where every user may create files and nobody may delete those of others, or in GPUTOPO_LOCK_DIR if
// that is set (for example a folder that containers share). The file is never removed. Symbolic links are not
// followed, and only a regular file with a single hard link is used. Never throws.
[[nodiscard]] DeviceLockAttempt try_lock_device(const std::string& pci_address);

// The holder of a lock that try_lock_device() has just found taken, for a message: "python3 (process 4242 of user
// 1001)". It is "another gputopo" if the system does not show the holder, for example across containers. A process
// chooses its own name, so the name is no proof. Never throws.
[[nodiscard]] std::string device_lock_holder(const std::string& pci_address);

// The PCI address of the GPU that open_device(spec) would open; empty if unknown, simulated or a recording.
[[nodiscard]] std::string pci_address_of(const std::string& spec);

}  // namespace gputopo
