#include "device/cuda/compile_ahead.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace gputopo::cuda {

struct CompileAhead::State {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> waiting;
  std::size_t threads = 0;  // threads that have not ended
  std::vector<std::thread> started;

  // Each thread runs this, and ends once nothing waits.
  void work() {
    std::unique_lock lock(mutex);
    while (!waiting.empty()) {
      const std::function<void()> next = std::move(waiting.front());
      waiting.pop_front();
      lock.unlock();
      next();
      publish_driver_calls(nullptr);  // the record of calls is gone with the work
      lock.lock();
    }
    --threads;
    changed.notify_all();
  }
};

CompileAhead::CompileAhead(std::shared_ptr<const Driver> driver, std::shared_ptr<const Context> context)
    : driver_(std::move(driver)), context_(std::move(context)), state_(std::make_shared<State>()) {}

CompileAhead::~CompileAhead() {
  // The longest kernels take 3 s. A compiler that hangs is left behind, with its context.
  constexpr std::chrono::seconds kMostWait{10};
  const InDriverCall call("cuLinkAddData");
  std::unique_lock lock(state_->mutex);
  state_->waiting.clear();
  const bool all_ended = state_->changed.wait_for(lock, kMostWait, [this] { return state_->threads == 0; });
  for (std::thread& thread : std::exchange(state_->started, {})) {
    if (all_ended) {
      lock.unlock();
      thread.join();
      lock.lock();
    } else {
      thread.detach();
    }
  }
}

bool CompileAhead::has_room() { return std::thread::hardware_concurrency() > 1; }

std::size_t CompileAhead::threads() {
  constexpr std::size_t kMostThreads = 16;
  return std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, kMostThreads);
}

void CompileAhead::add(std::function<void()> work) {
  std::unique_lock lock(state_->mutex);
  state_->waiting.push_back(std::move(work));
  if (state_->threads == threads()) return;
  ++state_->threads;
  try {
    state_->started.emplace_back([state = state_] { state->work(); });
  } catch (const std::system_error&) {
    // If no thread can be started, this one does the work, unless another thread will.
    if (state_->threads > 1) {
      --state_->threads;
      return;
    }
    lock.unlock();
    state_->work();
  }
}

void CompileAhead::expect(const std::string& ptx) {
  if (expected_.contains(ptx)) return;
  expected_.emplace(ptx, begin<std::string>([driver = driver_, ptx] { return compile(*driver, ptx); }));
}

std::string CompileAhead::machine_code(const std::string& ptx) const {
  const auto found = expected_.find(ptx);
  return found == expected_.end() ? compile(*driver_, ptx) : found->second.get();
}

Module CompileAhead::module_of(const std::string& ptx) const {
  return {driver_, expected_.contains(ptx) ? machine_code(ptx) : ptx};
}

}  // namespace gputopo::cuda
