// Work for the driver's compiler, on threads of its own.
//
// Seen on an H100 (driver 580.159.04): while other threads are in cuLinkAddData, launches take what they take else, and
// 14 threads compile as quickly as one. cuModuleLoadDataEx of PTX holds up every launch until it has compiled, so what
// is compiled ahead is linked, and only its machine code is loaded.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/cuda/driver_api.h"
#include "device/driver/driver_call.h"

namespace gputopo::cuda {

class CompileAhead {
 public:
  CompileAhead(std::shared_ptr<const Driver> driver, std::shared_ptr<const Context> context);
  CompileAhead(const CompileAhead&) = delete;
  CompileAhead& operator=(const CompileAhead&) = delete;
  // What has not begun is dropped. What has is waited for, but not for ever.
  ~CompileAhead();

  // Whether there is a core beside this thread's: else work ahead only comes in the way.
  [[nodiscard]] static bool has_room();
  // That work at once.
  [[nodiscard]] static std::size_t threads();

  // What threads are to work on, dealt out among them, for neighbours often take long alike: parts of as many as `most`
  // at most.
  template <typename Item>
  [[nodiscard]] static std::vector<std::vector<Item>> parts_of(const std::vector<Item>& items, std::size_t most) {
    const std::size_t each = std::min(most, items.size() / threads() + 1);
    std::vector<std::vector<Item>> parts(each == 0 ? 0 : (items.size() + each - 1) / each);
    for (std::size_t i = 0; i < items.size(); ++i) parts[i % parts.size()].push_back(items[i]);
    return parts;
  }

  // What a thread works on.
  template <typename Result>
  class Begun {
   public:
    // Waits for it. Throws what the work threw.
    [[nodiscard]] const Result& get() const {
      wait_in_call_of(*call_, [this](auto most) { return result_.wait_for(most) == std::future_status::ready; });
      return result_.get();
    }

   private:
    friend class CompileAhead;
    std::shared_future<Result> result_;
    std::shared_ptr<LastCall> call_ = std::make_shared<LastCall>("cuLinkCreate_v2");
  };

  // On one of the threads, where the context is current.
  template <typename Result>
  [[nodiscard]] Begun<Result> begin(std::function<Result()> work) {
    Begun<Result> begun;
    auto task = std::make_shared<std::packaged_task<Result()>>(
        [context = context_, call = begun.call_, work = std::move(work)] {
          tell_driver_calls(call.get());
          context->make_current();
          return work();
        });
    begun.result_ = task->get_future().share();
    add([task] { (*task)(); });
    return begun;
  }

  // The machine code of this PTX will be asked for.
  void expect(const std::string& ptx);
  // Compiled in this thread where nobody expected it. Throws DeviceError.
  [[nodiscard]] std::string machine_code(const std::string& ptx) const;
  // The same, to run.
  [[nodiscard]] Module module_of(const std::string& ptx) const;

 private:
  struct State;

  void add(std::function<void()> work);

  std::shared_ptr<const Driver> driver_;
  std::shared_ptr<const Context> context_;
  std::shared_ptr<State> state_;  // the threads', too, which may outlive this
  std::map<std::string, Begun<std::string>, std::less<>> expected_;
};

}  // namespace gputopo::cuda
