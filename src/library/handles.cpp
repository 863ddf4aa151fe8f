#include "library/handles.h"

#include <pthread.h>

#include <cstdint>
#include <mutex>
#include <unordered_map>

namespace gputopo::library {
namespace {

class Registry {
 public:
  gputopo_report* add(std::shared_ptr<const Topology> topology) {
    const std::lock_guard lock(mutex_);
    next_ += kStep;
    const auto* handle = reinterpret_cast<const gputopo_report*>(next_);
    reports_.emplace(handle, std::move(topology));
    return const_cast<gputopo_report*>(handle);
  }
  std::shared_ptr<const Topology> find(const gputopo_report* handle) {
    const std::lock_guard lock(mutex_);
    const auto found = reports_.find(handle);
    return found == reports_.end() ? nullptr : found->second;
  }
  // The report itself is freed after the lock is released.
  void remove(const gputopo_report* handle) {
    std::shared_ptr<const Topology> removed;
    const std::lock_guard lock(mutex_);
    const auto found = reports_.find(handle);
    if (found == reports_.end()) return;
    removed = std::move(found->second);
    reports_.erase(found);
  }
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  // Not an address of anything: beyond the first page, and odd.
  static constexpr std::uintptr_t kFirst = 0x1001;
  static constexpr std::uintptr_t kStep = 16;

  std::mutex mutex_;
  std::uintptr_t next_ = kFirst;
  std::unordered_map<const gputopo_report*, std::shared_ptr<const Topology>> reports_;
};

// Never destroyed, because the caller's threads may outlive the end of main.
Registry& registry() {
  static Registry& instance = []() -> Registry& {
    auto* made = new Registry;
    // Another thread may hold the lock during a fork. The child would never release it.
    pthread_atfork([] { registry().lock(); }, [] { registry().unlock(); }, [] { registry().unlock(); });
    return *made;
  }();
  return instance;
}

}  // namespace

gputopo_report* add_report(std::shared_ptr<const Topology> topology) { return registry().add(std::move(topology)); }

std::shared_ptr<const Topology> find_report(const gputopo_report* handle) { return registry().find(handle); }

void remove_report(const gputopo_report* handle) { registry().remove(handle); }

}  // namespace gputopo::library
