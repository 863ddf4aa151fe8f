#include "device/hip/device_wait.h"

#include <fmt/format.h>

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "device/driver/driver_call.h"
#include "gputopo/error.h"

namespace gputopo::hip {
namespace {

// hsa_status_t.
constexpr int kTaken = 0;
constexpr int kNotTaken = 0x1000;

struct Shared {
  std::mutex mutex;
  std::condition_variable changed;
  unsigned waiting = 0;
  std::string fault;
};

// Never destroyed, because the runtime's threads live until the process ends.
Shared& shared() {
  static auto* const instance = new Shared;
  return *instance;
}

// Runs on a thread of the runtime.
int on_event(const SystemEvent* event, void*) {
  const bool is_fault = event->type == SystemEventType::kMemoryFault;
  if (!is_fault && event->type != SystemEventType::kHardwareException) return kNotTaken;
  const std::lock_guard lock(shared().mutex);
  if (shared().waiting == 0) return kNotTaken;
  shared().fault =
      is_fault ? fmt::format("memory access fault on the GPU at {:#x}", event->address) : "the GPU hung or was reset";
  shared().changed.notify_all();
  return kTaken;
}

void throw_fault(const std::string& fault) {
  throw DeviceLostError(fmt::format(
      "{}: nothing more can be measured on this GPU in this run; see the kernel log (dmesg), and report this", fault));
}

}  // namespace

// Guarded by the mutex.
struct DeviceWait::Job {
  bool asked = false;
  bool closed = false;
  Status status = kSuccess;
};

DeviceWait::DeviceWait(std::shared_ptr<const Runtime> runtime, int ordinal) : runtime_(std::move(runtime)) {
  if (runtime_->register_system_event_handler == nullptr) return;
  // Handlers cannot be removed, and versions differ on whether there may be several.
  static const bool registered = runtime_->register_system_event_handler(on_event, nullptr) == kTaken;
  if (!registered) return;
  job_ = std::make_shared<Job>();
  std::thread([runtime = runtime_, job = job_, ordinal] {
    static_cast<void>(runtime->set_device(ordinal));  // each thread has its own
    std::unique_lock lock(shared().mutex);
    while (true) {
      shared().changed.wait(lock, [&] { return job->asked || job->closed; });
      if (job->closed) return;
      lock.unlock();
      const Status status = runtime->device_synchronize();
      lock.lock();
      job->status = status;
      job->asked = false;
      // Notifies without the mutex, for which the woken thread would have to wait.
      lock.unlock();
      shared().changed.notify_all();
      lock.lock();
    }
  }).detach();  // it never ends after a fault
}

DeviceWait::~DeviceWait() {
  if (!job_) return;
  const std::lock_guard lock(shared().mutex);
  job_->closed = true;
  shared().changed.notify_all();
}

Status DeviceWait::operator()() {
  if (!job_) return runtime_->device_synchronize();
  const InDriverCall call("hipDeviceSynchronize");
  std::unique_lock lock(shared().mutex);
  job_->asked = true;
  ++shared().waiting;
  lock.unlock();
  shared().changed.notify_all();
  lock.lock();
  shared().changed.wait(lock, [this] { return !job_->asked || !shared().fault.empty(); });
  --shared().waiting;
  if (!shared().fault.empty()) throw_fault(shared().fault);
  return job_->status;
}

bool has_faulted() {
  const std::lock_guard lock(shared().mutex);
  return !shared().fault.empty();
}

void check_for_fault() {
  const std::lock_guard lock(shared().mutex);
  if (!shared().fault.empty()) throw_fault(shared().fault);
}

}  // namespace gputopo::hip
